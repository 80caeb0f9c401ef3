-- Times are microseconds of the server's clock. Texts are words, and `~` is none. The lines of a
-- document:
--   L2 at fence revision offers watched kept
--   fence since till finger result      what the key is done with, or `~`
--   the queue, in rows of: op till limit
--   the memory, newest first, in rows of: state op lease fence by at
--   slot limit expires lease op fence since term holder finger seen entries made  for each grant
-- An offer that is `made` starts anew when its op is repeated. Until `offers` no grant begins with more than an offer, since an op had to be forgotten; until
-- `watched` changes are published; until `kept` the record of the entries is there.
-- The states are those of `ENDED`, and x extended.

-- The width of a row, and where its fields begin.
local PLACE, TILL, LIMIT = 36, 17, 33
local PAST, OP, LEASE, FENCE, BY, AT = 97, 2, 18, 50, 66, 82
local NOBODY, NOTHING = string.rep('~', 16), string.rep('~', 32)
-- When something ended to which the time was not read; whoever reads it next puts it in.
local SOMETIME, FOREVER = string.rep('?', 16), 1e15 * 9

-- Where the fields of a grant begin that are looked at in all of them.
local CAP, EXPIRES, ID, BORN = 6, 11, 28, 61

local document, record = KEYS[1], KEYS[2]
local now

local function stamp(x) return string.format('%016.0f', x) end

-- What is stored under a name; or nothing, and what to answer instead.
local function stored(name)
  local text = redis.pcall('GET', name)
  if type(text) ~= 'table' then return text end
  -- Of another type it is somebody else's; any other error is the server's, and is raised.
  if not string.find(text.err, 'WRONGTYPE', 1, true) then call('GET', name) end
  return nil, foreign(call('TYPE', name).ok)
end

-- Where the row begins that has this text at this column, if one has.
local function row(rows, width, column, text, from)
  local i = (from or 1) + column - 2
  repeat
    i = string.find(rows, text, i + 1, true)
  until not i or (i - column) % width == 0
  return i and i - column + 1
end

local function field(rows, i, from, to) return string.sub(rows, i + from - 1, i + to - 2) end

local function parse_grant(line)
  local g = {}
  g.slot, g.limit, g.expires, g.lease, g.op, g.fence, g.since, g.term, g.holder, g.finger, g.seen,
    g.entries, g.made = string.match(line,
      '^(%d+) (%d+) (%d+) (%x+) (%x+) (%d+) (%d+) (%d+) ([^ ]+) ([^ ]+) (%d+) (%d+) (%d)$')
  if not g.slot then error('WRONGTYPE a grant that is not ours') end
  g.slot, g.expires, g.since, g.term = tonumber(g.slot), tonumber(g.expires), tonumber(g.since), tonumber(g.term)
  g.fence, g.seen, g.entries = number(g.fence), tonumber(g.seen), tonumber(g.entries)
  return g
end

local function grant_line(g)
  return string.format('%04.0f %04.0f %016.0f %s %s %016.0f %016.0f %016.0f %s %s %.0f %.0f %s',
    g.slot, g.limit, g.expires, g.lease, g.op, g.fence, g.since, g.term, g.holder, g.finger, g.seen,
    g.entries, g.made)
end

-- The state that a text stands for, unless it is none of ours.
local function parse(text)
  local lines, from = {}, 1
  repeat
    local to = string.find(text, '\n', from, true)
    lines[#lines + 1] = string.sub(text, from, (to or 0) - 1)
    from = to and to + 1
  until not from
  local r = { queue = lines[3], past = lines[4], grants = { unpack(lines, 5) } }
  r.at, r.fence, r.revision, r.offers, r.watched, r.kept =
    string.match(lines[1], '^L2 (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not r.at or not r.past or #r.queue % PLACE ~= 0 or #r.past % PAST ~= 0 then return nil end
  for _, name in ipairs({ 'at', 'fence', 'revision', 'offers', 'watched', 'kept' }) do
    r[name] = tonumber(r[name])
  end
  if lines[2] ~= '~' then
    local fence, since, till, finger, result =
      string.match(lines[2], '^(%d+) (%d+) (%d+) ([^ ]+) ([^ ]+)$')
    if not fence then return nil end
    r.done = { fence = fence, since = tonumber(since), till = tonumber(till), finger = finger,
      result = result }
  end
  for _, line in ipairs(r.grants) do
    if not string.find(line, '^%d%d%d%d %d%d%d%d %d+ %x') then return nil end
  end
  return r
end

-- The key's state; or nothing, and what to answer instead.
local function read()
  local text, answer = stored(document)
  if answer then return nil, answer end
  if not text then
    return { absent = true, at = 0, fence = 0, revision = 0, offers = 0, watched = 0, kept = 0,
      queue = '', past = '', grants = {} }
  end
  local r = parse(text)
  if not r then return nil, foreign('string') end
  r.before = r.revision
  return r
end

local function present(r) return #r.queue / PLACE end

local function cap(line) return tonumber(string.sub(line, CAP, CAP + 3)) end

local function admits(r, limit)
  for _, line in ipairs(r.grants) do limit = math.min(limit, cap(line)) end
  return not r.done and #r.grants < limit
end

local function expiry(line) return tonumber(string.sub(line, EXPIRES, EXPIRES + 15)) end

-- How long until there may be one holder more, with this limit: until so many are left, of those
-- who hold longest, that each of them and the one more puts up with the others.
local function wait_of(r, limit)
  local longest = { unpack(r.grants) }
  table.sort(longest, function(a, b) return expiry(a) > expiry(b) end)
  for i, line in ipairs(longest) do
    limit = math.min(limit, cap(line))
    if i >= limit then return expiry(line) - now end
  end
  return 0
end

-- Until when a document has to be there: with a fence, as long as a clock may be set back.
local function last(r)
  local till = now + MEMORY
  if r.fence > 0 then till = math.max(till, r.fence + RETENTION) end
  if r.done then till = math.max(till, r.done.till + MEMORY) end
  for _, line in ipairs(r.grants) do till = math.max(till, expiry(line) + MEMORY) end
  return till
end

local function write(r, timeless)
  local done = '~'
  if r.done then
    done = string.format('%s %.0f %.0f %s %s', r.done.fence, r.done.since, r.done.till, r.done.finger,
      r.done.result)
  end
  local head = string.format('L2 %.0f %.0f %.0f %.0f %.0f %.0f', r.at, r.fence, r.revision, r.offers,
    r.watched, r.kept)
  local text = table.concat({ head, done, r.queue, r.past, unpack(r.grants) }, '\n')
  if timeless then
    call('SET', document, text, 'KEEPTTL')
  else
    call('SET', document, text, 'PX', number(math.ceil((last(r) - now) / 1000)))
  end
  -- The first in turn is told if it has become so, or something has changed for it, and its turn
  -- may come before it looks again by itself.
  if r.freed and r.queue ~= ''
    and wait_of(r, tonumber(field(r.queue, 1, LIMIT, PLACE + 1))) < GRACE then
    redis.pcall('PUBLISH', WAKE .. field(r.queue, 1, 1, TILL), '1')
  end
  if r.watched > now and r.revision ~= r.before then redis.pcall('PUBLISH', WATCH, '1') end
end
