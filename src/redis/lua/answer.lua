-- KEYS: a key's document and its entries; to list, those of many keys in turn.
-- ARGV, unless it is to list: the time, or nothing for the server's; how long the request has lain
-- waiting, in milliseconds, and whether it waits on; where watchers are told of changes, and what the
-- channels of waiters begin with; what stands for the op; and the request in JSON. The answer is in
-- JSON. Who is to wait on is told `queued`, with how long nothing changes by itself.
local given, waited, waits, WATCH, WAKE, op, request = unpack(ARGV)
request = request and cjson.decode(request)

local function number(x) return string.format('%.0f', x) end

local function millis(x) return number(math.floor(x / 1000)) end

local function millis_up(x) return number(math.ceil(x / 1000)) end

local function quoted(text) return '"' .. text .. '"' end

-- A number in decimal as we write it.
local function decimal(text) return text and string.match(text, '^0*(%d+)$') end

-- Text as a word: as it stands in JSON, without spaces.
local function word(text)
  local json = string.gsub(string.gsub(cjson.encode(text), '\\/', '/'), ' ', '\\u0020')
  return json
end

local function unword(word) return cjson.decode('[' .. word .. ']')[1] end

-- An object, of names and values in turn. What has no value is left out.
local function object(...)
  local fields = {}
  for i = 1, select('#', ...), 2 do
    local name, value = select(i, ...)
    if value then fields[#fields + 1] = quoted(name) .. ':' .. value end
  end
  return '{' .. table.concat(fields, ',') .. '}'
end

local function respond(outcome, ...)
  return object('v', 1, 'outcome', quoted(outcome), ...)
end

-- What an operation about a fence comes to.
local function about(outcome, ...)
  return respond(outcome, 'fence', request.fence and quoted(request.fence), ...)
end

-- A value of this type is at one of our names, and somebody else's.
local function foreign(kind)
  local refusal = string.gsub(REFUSALS.foreign, 'A value', 'A ' .. kind)
  return refusal
end

-- An error tells which command it comes of, since not every server does when it may not be run.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    error(reply.err .. " to run the '" .. command .. "'")
  end
  return reply
end
