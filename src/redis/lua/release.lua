-- KEYS lease queue presence; ARGV op by id
local op, by, id = ARGV[1], ARGV[2], ARGV[3]
local r = read()
if not r then return { 'not-holder', 'f' } end
if ended_by(r, op, 'r') then return { 'released' } end
local vain = in_vain(r, op)
if vain then return { 'not-holder', vain } end
if not matches(r, by, id) then return refuse(r, op, by, id) end
finish(r, 'r', op, KEYS[2], KEYS[3])
return { 'released' }
