-- KEYS lease fence; ARGV op id fence successor lease ttl
local op, id, fence = ARGV[1], ARGV[2], ARGV[3]
local r = read()
if not r then return { 'not-holder', 'f', fence } end
local seen = outcome(r, op)
if seen then return seen end
if not matches(r, id, fence) then return not_holder(r, id, fence) end
r.state, r.by = 't', op
return grant(r, ARGV[5], op, ARGV[4], tonumber(ARGV[6]))
