-- KEYS lease queue presence
local r = read()
if not r then return foreign(KEYS[1]) end
if r.state ~= 'h' then return { 'free' } end
local waiters = 0
if r.q == '1' then
  sweep(KEYS[2], KEYS[3])
  waiters = redis.call('ZCARD', KEYS[2])
end
return { 'info', r.holder, r.fence, number(r.expires - now), number(waiters) }
