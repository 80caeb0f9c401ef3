-- KEYS lease queue presence; ARGV op id fence
local op, id, fence = ARGV[1], ARGV[2], ARGV[3]
local r = read()
if not r then return { 'not-holder', 'f', fence } end
if ended_by(r, op, 'r') then return { 'released', fence } end
if not matches(r, id, fence) then return not_holder(r, id, fence) end
finish(r, 'r', op, KEYS[2], KEYS[3])
return { 'released', fence }
