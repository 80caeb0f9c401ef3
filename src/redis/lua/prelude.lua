-- The record at KEYS[1], one line of words and the holder's name:
-- L1 state expires term at waiters fence lease op by past holder
-- state: h held, r released, t transferred, v revoked, c cancelled, e expired, n never granted.
-- Times are milliseconds of the server's clock. `past` lists earlier ops, newest first, each as
-- state:op:lease:fence:by, or as state:op:: where it had no grant.
local KEEP = 60000
local now, stamp

local function number(x) return string.format('%.0f', x) end

local function foreign(key) return { 'foreign', redis.call('TYPE', key).ok } end

-- Never behind the time of an earlier step on the same key.
local function clock(at)
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
  stamp = t[1] .. string.format('%06d', t[2])
  if at and at > now then now = at end
end

local function read()
  local text = redis.pcall('GET', KEYS[1])
  if not text then
    clock()
    return { state = 'n', expires = 0, term = 0, q = '0', fence = '0', lease = '-', op = '-',
      by = '-', past = '-', holder = '' }
  end
  if type(text) ~= 'string' then
    -- Of another type it is somebody else's; any other error is the server's, and is raised.
    if not string.find(text.err, 'WRONGTYPE', 1, true) then redis.call('GET', KEYS[1]) end
    return nil
  end
  local r = {}
  local at
  r.state, r.expires, r.term, at, r.q, r.fence, r.lease, r.op, r.by, r.past, r.holder =
    string.match(text, '^L1 (%l) (%d+) (%d+) (%d+) ([01]) (%d+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  if not r.state then return nil end
  r.expires = tonumber(r.expires)
  r.term = tonumber(r.term)
  clock(tonumber(at))
  if r.state == 'h' and r.expires <= now then r.state = 'e' end
  return r
end

local function write(r)
  local keep = KEEP
  if r.state == 'h' then keep = keep + r.expires - now end
  redis.call('SET', KEYS[1], table.concat({ 'L1', r.state, number(r.expires), number(r.term),
    number(now), r.q, r.fence, r.lease, r.op, r.by, r.past, r.holder }, ' '), 'PX', number(keep))
end

-- Moves an op that has had its outcome to the front of the sixteen that are remembered.
local function remember(r, word)
  local words = { word }
  for old in string.gmatch(r.past, '[^,]+') do
    if old ~= '-' and #words < 16 then words[#words + 1] = old end
  end
  r.past = table.concat(words, ',')
end

local function bury(r)
  if r.op ~= '-' then
    remember(r, table.concat({ r.state, r.op, r.lease, r.fence, r.by }, ':'))
  end
end

local function granted(r, left, replayed)
  return { 'granted', r.lease, r.fence, number(left), number(r.term), number(now), replayed }
end

-- Whether an op is remembered at all. A plain search, where the patterns that tell more are slow.
local function remembers(r, op) return string.find(r.past, op, 1, true) end

-- What became of the acquire or transfer `op`, if it was seen before.
local function outcome(r, op)
  if r.op == op then
    return granted(r, r.state == 'h' and r.expires - now or 0, '1')
  end
  if not remembers(r, op) then return nil end
  local state, lease, fence = string.match(r.past, '(%l):' .. op .. ':([^:,]*):([^:,]*)')
  if not state then return nil end
  if lease == '' and state == 'c' then return { 'cancelled' } end
  if lease == '' then return { 'not-holder', state } end
  return { 'granted', lease, fence, '0', '0', number(now), '1' }
end

local function ended_by(r, op, state)
  return r.by == op and r.state == state
    or remembers(r, op) and string.find(r.past, state .. ':[^,]*:' .. op) ~= nil
end

-- Whether it is held under this id and, if one is named, this fence.
local function matches(r, id, fence)
  return r.state == 'h' and r.lease == id and (fence == '' or r.fence == fence)
end

local function not_holder(r, id, fence)
  local state = r.lease == id and r.state ~= 'h' and r.state
    or remembers(r, id) and string.match(r.past, '(%l):[^:,]*:' .. id .. ':')
  return { 'not-holder', state or 'n', fence }
end

-- How it ended for an op that had its outcome and no grant.
local function in_vain(r, op)
  return remembers(r, op) and string.match(r.past, '(%l):' .. op .. '::')
end

local function remember_in_vain(r, op, state)
  remember(r, state .. ':' .. op .. '::')
  write(r)
end

local function below(a, b) return #a < #b or #a == #b and a < b end

-- The next fence is the server's time in microseconds or one more than the last, whichever is
-- higher: so it rises even after a failover that lost the last one. What else may be stored where
-- the fence belongs is put back.
local function grant(r, lease, op, holder, ttl)
  local fence = stamp
  local last = redis.pcall('SET', KEYS[2], fence, 'KEEPTTL', 'GET') or '0'
  if type(last) == 'table' then
    if string.find(last.err, 'WRONGTYPE', 1, true) then return foreign(KEYS[2]) end
    redis.call('SET', KEYS[2], fence, 'KEEPTTL', 'GET')
  end
  if not string.match(last, '^%d+$') then
    redis.call('SET', KEYS[2], last, 'KEEPTTL')
    return foreign(KEYS[2])
  end
  if below(last, r.fence) then last = r.fence end
  if not below(last, fence) then
    redis.call('SET', KEYS[2], last)
    redis.call('INCR', KEYS[2])
    fence = redis.call('GET', KEYS[2])
  end
  bury(r)
  r.state, r.lease, r.op, r.by, r.holder, r.fence = 'h', lease, op, '-', holder, fence
  r.term, r.expires = ttl, now + ttl
  write(r)
  return granted(r, ttl, '0')
end

local function extend(r, ttl)
  if now + ttl > r.expires then
    r.expires, r.term = now + ttl, ttl
    write(r)
  end
end

-- The first waiter that is still there, and its channel.
local function first(r, queue, presence)
  while r.q == '1' do
    local op = redis.call('ZRANGE', queue, 0, 0)[1]
    if not op then
      r.q = '0'
      return nil
    end
    local last, channel = string.match(redis.call('HGET', presence, op) or '', '^(%d+) (.*)$')
    if last and tonumber(last) >= now then return op, channel end
    redis.call('ZREM', queue, op)
    redis.call('HDEL', presence, op)
  end
end

-- Gives up the place of `op` in the queue, if it has one.
local function leave(r, op, queue, presence)
  if r.q == '1' and redis.call('HDEL', presence, op) == 1 then redis.call('ZREM', queue, op) end
end

-- Drops those of the first sixty-four waiters that are not there any more.
local function sweep(queue, presence)
  local ops = redis.call('ZRANGE', queue, 0, 63)
  local lasts = #ops > 0 and redis.call('HMGET', presence, unpack(ops)) or {}
  for i, op in ipairs(ops) do
    local last = tonumber(string.match(lasts[i] or '', '^%d+') or '')
    if not last or last < now then
      redis.call('ZREM', queue, op)
      redis.call('HDEL', presence, op)
    end
  end
end

-- Tells the first waiter that the key is free, once the record says so.
local function write_and_wake(r, queue, presence)
  local op, channel = first(r, queue, presence)
  write(r)
  if op then redis.pcall('PUBLISH', channel, '1') end
end

local function finish(r, state, by, queue, presence)
  r.state, r.by = state, by
  write_and_wake(r, queue, presence)
end
