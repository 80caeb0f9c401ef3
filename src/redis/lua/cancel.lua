-- KEYS lease queue presence; ARGV op
local op = ARGV[1]
local r = read()
if not r then return { 'cancelled' } end
if r.op == op and r.state == 'h' then
  finish(r, 'c', op, KEYS[2], KEYS[3])
elseif not outcome(r, op) then
  if redis.call('HDEL', KEYS[3], op) == 1 then redis.call('ZREM', KEYS[2], op) end
  remember(r, 'c:' .. op .. '::')
  if r.state == 'h' then
    write(r)
  else
    write_and_wake(r, KEYS[2], KEYS[3])
  end
end
return { 'cancelled' }
