local time

local function changed(r, at) r.revision = math.max(r.revision + 1, at) end

-- Puts a row in front of the memory. An op that falls off its end too young costs offers.
local function remember(r, state, op, lease, fence, by, at)
  local gone = field(r.past, (MOST - 1) * PAST + 1, AT, PAST + 1)
  if gone ~= '' then r.offers = math.max(r.offers, (tonumber(gone) or FOREVER) + MEMORY) end
  r.past = table.concat({ state, op, lease, string.format('%16s', fence), by, at,
    string.sub(r.past, 1, (MOST - 1) * PAST) })
end

local function end_grant(r, i, state, by, at)
  local grant = parse_grant(table.remove(r.grants, i))
  remember(r, state, grant.op, grant.lease, grant.fence, by or NOBODY, at or stamp(now))
  r.ended = r.ended or {}
  r.ended[#r.ended + 1] = grant
  r.freed = true
end

-- Takes the row that begins at `i` out of the queue.
local function leave(r, i)
  r.queue = string.sub(r.queue, 1, i - 1) .. string.sub(r.queue, i + PLACE)
  if i == 1 then r.freed = true end
end

-- Brings the key up to the time, which never runs backwards. Whoever looks later finds the same
-- changes and counts the same revisions, so that they need not be stored.
local function settle(r)
  time = time or given ~= '' and { 0, given } or call('TIME')
  now = math.max(time[1] * 1000000 + time[2], r.at)
  r.at = now
  r.offers = math.min(r.offers, now + MEMORY)
  -- One by one, since a pattern is tried at each byte, which a plain text is not.
  while string.find(r.past, SOMETIME, 1, true) do
    r.past = string.gsub(r.past, '%?+', stamp(now), 1)
  end
  while r.past ~= '' and tonumber(string.sub(r.past, AT - PAST - 1)) + MEMORY <= now do
    r.past = string.sub(r.past, 1, -PAST - 1)
  end
  for i = #r.grants, 1, -1 do
    local expires = expiry(r.grants[i])
    if expires <= now then
      changed(r, expires)
      end_grant(r, i, 'e')
    end
  end
  local today = stamp(now)
  for i = #r.queue - PLACE + 1, 1, -PLACE do
    local till = field(r.queue, i, TILL, LIMIT)
    if till < today then
      changed(r, tonumber(till))
      leave(r, i)
    end
  end
  if r.done and r.done.till <= now then
    changed(r, r.done.till)
    r.done = nil
  end
end

local function save(r, timeless)
  for _, grant in ipairs(r.ended or {}) do drop_entries(grant) end
  write(r, timeless)
end

-- How long the holder of a grant may count on it, and how many wait for it.
local function told(r, grant)
  local margin = math.min(math.floor(grant.term / MARGIN_PART), MARGIN_MOST)
  return 'ttlMs', millis(math.max(0, grant.expires - now - margin)), 'wanted', present(r)
end

local function granted(r, grant, replayed)
  return respond('granted', 'lease', quoted(grant.lease), 'fence', quoted(grant.fence), 'slot', grant.slot,
    'replayed', replayed, 'waitedMs', waited, told(r, grant))
end

local function slot_of(line) return tonumber(string.sub(line, 1, 4)) end

-- A grant in the lowest free slot, or in the given one.
local function grant(r, fields, ttl, slot)
  if r.fence >= 9007199254740991 then return REFUSALS.fences end
  r.fence = math.max(r.fence + 1, now)
  fields.fence, fields.since, fields.seen = number(r.fence), now, 0
  fields.term, fields.expires = ttl, now + ttl
  local i = 1
  while r.grants[i] and slot_of(r.grants[i]) < (slot or i) do i = i + 1 end
  fields.slot = slot or i - 1
  table.insert(r.grants, i, grant_line(fields))
  changed(r, now)
  save(r)
  return granted(r, fields)
end

-- The term is as long as is asked for, never less than it was. An acquire that asks for it is
-- remembered with the grant: should it come again after its end, it must not win another.
local function extend(r, i, grant, ttl, op)
  if now + ttl <= grant.expires and grant.made == '0' and not op then return end
  if op then remember(r, 'x', op, grant.lease, grant.fence, NOBODY, stamp(now)) end
  if now + ttl > grant.expires then grant.expires, grant.term = now + ttl, ttl end
  grant.made = '0'
  local lines = grant.entries > 0 and grant.expires + MEMORY > r.kept and entries()
  if lines then keep_entries(r, lines) end
  r.grants[i] = grant_line(grant)
  save(r)
end

-- The highest fence of those who hold the key.
local function highest(r)
  local fence = 0
  for _, line in ipairs(r.grants) do fence = math.max(fence, tonumber(parse_grant(line).fence)) end
  return fence > 0 and quoted(number(fence)) or nil
end

local function held(r, limit)
  local first = r.grants[1] and parse_grant(r.grants[1]) or {}
  return respond('held', 'holder', first.holder, 'fence', first.fence and quoted(first.fence),
    'retryAfterMs', millis_up(wait_of(r, limit)), 'waiters', present(r))
end

-- That the key is done, without what came of it.
local function finished(r)
  return 'fence', quoted(r.done.fence), 'ageMs', millis(now - r.done.since), 'remainingMs',
    millis(r.done.till - now)
end

local function done(r) return respond('done', 'result', r.done.result, finished(r)) end

-- The grant that the credential opens, and its position.
local function opened(r, lease, fence)
  for i, line in ipairs(r.grants) do
    if string.find(line, lease, ID, true) == ID then
      local grant = parse_grant(line)
      if not fence or grant.fence == fence then return grant, i end
    end
  end
end

-- Where the grant is that `op` has won.
local function won_by(r, op)
  for i, line in ipairs(r.grants) do
    if string.find(line, op, BORN, true) == BORN then return i end
  end
end

local function fence_of(past, i) return string.match(field(past, i, FENCE, BY), '%d+') end

-- By which states of the memory a grant has ended, and how.
local ENDED = { c = 'cancelled', e = 'expired', f = 'finished', r = 'released', t = 'transferred',
  v = 'revoked' }

local function unheld(r, state)
  return about('not-holder', 'reason', quoted(ENDED[state] or 'unknown'), 'present', highest(r))
end

local function not_holder(r, lease, fence)
  local i = row(r.past, PAST, LEASE, lease)
  while i and fence and fence_of(r.past, i) ~= fence do
    i = row(r.past, PAST, LEASE, lease, i + PAST)
  end
  return unheld(r, i and string.sub(r.past, i, i) or 'unknown')
end

-- Whether `op` has ended a grant in this way.
local function ended_by(r, op, state)
  local i = row(r.past, PAST, BY, op)
  return i and string.sub(r.past, i, i) == state
end

-- Whether what is stored with a grant or a result was made of another input.
local function clashes(stored, finger)
  return stored ~= nil and finger ~= '~' and stored.finger ~= '~' and stored.finger ~= finger
end

-- What the acquire or transfer `op` was told, if it has had its outcome.
local function outcome(r, op, acquires)
  local i = won_by(r, op)
  if i then
    local grant = parse_grant(r.grants[i])
    if grant.made == '1' then extend(r, i, grant, grant.term) end
    return granted(r, grant, 'true')
  end
  i = row(r.past, PAST, OP, op)
  if not i then return nil end
  local state, lease = string.sub(r.past, i, i), field(r.past, i, LEASE, FENCE)
  if acquires and state == 'f' and r.done then return done(r) end
  if lease ~= NOTHING then
    local fence = fence_of(r.past, i)
    -- It may have extended one that runs.
    local own = opened(r, lease, fence)
    if own then return granted(r, own, 'true') end
    return granted(r, { lease = lease, fence = fence, slot = 0, expires = now, term = 0 }, 'true')
  end
  return state == 'c' and respond('cancelled') or unheld(r, 'unknown')
end

-- What a grant carries, as an object.
local function carried(grant, lines)
  local own = {}
  for _, line in ipairs(grant.entries > 0 and lines or {}) do
    if line.slot == grant.slot then own[#own + 1] = line.name .. ':' .. unword(line.value) end
  end
  return '{' .. table.concat(own, ',') .. '}'
end

-- All that a key shows, as an object; or nothing, and what to answer instead.
local function state(r)
  local grants, lines = {}, nil
  for i, line in ipairs(r.grants) do
    grants[i] = parse_grant(line)
    if grants[i].entries > 0 and not lines then
      local answer
      lines, answer = entries()
      if answer then return nil, answer end
    end
  end
  local holders = {}
  for i, grant in ipairs(grants) do
    holders[i] = object('holder', grant.holder, 'fence', quoted(grant.fence), 'slot', grant.slot,
      'limit', tonumber(grant.limit), 'ageMs', millis(now - grant.since), 'remainingMs', millis(grant.expires - now),
      'entries', carried(grant, lines))
  end
  return object('key', cjson.encode(string.match(document, '{k:(.*)}')), 'revision', quoted(number(r.revision)),
    'waiters', present(r), 'done', r.done and object(finished(r)), 'holders', '[' .. table.concat(holders, ',') .. ']')
end
