-- KEYS lease queue
local r = read()
if not r then return foreign(KEYS[1]) end
if r.state ~= 'h' then return { 'free' } end
local waiters = r.q == '1' and redis.call('ZCARD', KEYS[2]) or 0
return { 'info', r.holder, r.fence, number(r.expires - now), number(waiters) }
