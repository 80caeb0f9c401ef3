-- KEYS lease fence queue presence; ARGV op lease holder ttl waits reentrant window channel most
local op, holder, ttl = ARGV[1], ARGV[3], tonumber(ARGV[4])
local r = read()
if not r then return foreign(KEYS[1]) end
local seen = outcome(r, op)
if seen then return seen end
if r.state == 'h' and ARGV[6] == '1' and r.holder == holder then
  extend(r, ttl)
  return granted(r, r.expires - now, '0')
end
if r.state ~= 'h' then
  local head = first(r, KEYS[3], KEYS[4])
  if not head or head == op then
    if head then
      redis.call('ZREM', KEYS[3], op)
      redis.call('HDEL', KEYS[4], op)
    end
    return grant(r, ARGV[2], op, holder, ttl)
  end
end
local left = r.state == 'h' and r.expires - now or 0
if ARGV[5] == '0' then
  leave(r, op, KEYS[3], KEYS[4])
  return { 'held', r.state == 'h' and r.holder or '', number(left) }
end
local is_new = redis.call('HSET', KEYS[4], op, number(now + ARGV[7]) .. ' ' .. ARGV[8]) == 1
-- Who is known and has no rank has lost its place by eviction.
local ahead = not is_new and redis.call('ZRANK', KEYS[3], op)
if not ahead then
  local most = tonumber(ARGV[9])
  if redis.call('ZCARD', KEYS[3]) >= most then
    sweep(KEYS[3], KEYS[4])
    if redis.call('ZCARD', KEYS[3]) >= most then
      redis.call('HDEL', KEYS[4], op)
      return { 'too-many-waiters' }
    end
  end
  redis.call('ZADD', KEYS[3], stamp, op)
  redis.call('PEXPIRE', KEYS[3], 90000000)
  redis.call('PEXPIRE', KEYS[4], 90000000)
  ahead = redis.call('ZRANK', KEYS[3], op)
end
-- Also for one who waited already: the record may be another since.
if r.q == '0' then
  r.q = '1'
  write(r)
end
return { 'queued', number(ahead), number(left), number(now) }
