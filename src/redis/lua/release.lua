-- KEYS lease queue presence; ARGV op by id
local op, by, id = ARGV[1], ARGV[2], ARGV[3]
local r = read()
if not r then return { 'not-holder', 'f' } end
if matches(r, by, id) then
  finish(r, 'r', op, KEYS[2], KEYS[3])
  return { 'released' }
end
if ended_by(r, op, 'r') then return { 'released' } end
return not_holder(r, by, id)
