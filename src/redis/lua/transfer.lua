-- KEYS lease fence; ARGV op by id successor lease ttl
local op, by, id = ARGV[1], ARGV[2], ARGV[3]
local r = read()
if not r then return { 'not-holder', 'f' } end
local seen = outcome(r, op)
if seen then return seen end
if not matches(r, by, id) then return refuse(r, op, by, id) end
r.state, r.by = 't', op
return grant(r, ARGV[5], op, ARGV[4], tonumber(ARGV[6]))
