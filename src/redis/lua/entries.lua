-- The entries of all grants of a key, by name: a line of slot, size, name and value each.

-- All lines; or nothing, and what to answer instead.
local function entries()
  local text, answer = stored(record)
  if text and string.sub(text, 1, 2) ~= 'E1' then answer = foreign('string') end
  if answer then return nil, answer end
  local lines = {}
  for slot, size, name, value in string.gmatch(text or '', '\n([^ ]+) ([^ ]+) ([^ ]+) ([^ \n]+)') do
    lines[#lines + 1] = { slot = tonumber(slot), size = tonumber(size), name = name, value = value }
  end
  return lines
end

local function put_entries(lines, ...)
  if #lines == 0 then return call('DEL', record) end
  local text = { 'E1' }
  for i, line in ipairs(lines) do
    text[i + 1] = table.concat({ number(line.slot), number(line.size), line.name, line.value }, ' ')
  end
  call('SET', record, table.concat(text, '\n'), ...)
end

local function keep_entries(r, lines)
  r.kept = now + RETENTION
  put_entries(lines, 'PX', number(RETENTION / 1000))
end

-- Takes out the entries of a grant that has ended. What is not ours stays.
local function drop_entries(grant)
  local lines = grant.entries > 0 and entries()
  if not lines then return end
  local others = {}
  for _, line in ipairs(lines) do
    if line.slot ~= grant.slot then others[#others + 1] = line end
  end
  put_entries(others, 'KEEPTTL')
end
