-- KEYS lease queue presence; ARGV op
local op = ARGV[1]
local r = read()
if not r then return { 'cancelled' } end
-- First of all: the key must not go to the very op that is cancelled.
leave(r, op, KEYS[2], KEYS[3])
if r.op == op and r.state == 'h' then
  finish(r, 'c', op, KEYS[2], KEYS[3])
elseif not outcome(r, op) then
  remember(r, 'c:' .. op .. '::')
  if r.state == 'h' then
    write(r)
  else
    write_and_wake(r, KEYS[2], KEYS[3])
  end
end
return { 'cancelled' }
