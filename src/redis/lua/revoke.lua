-- KEYS lease queue presence; ARGV op
local op = ARGV[1]
local r = read()
if not r then return foreign(KEYS[1]) end
if ended_by(r, op, 'v') then return { 'revoked', '1' } end
if in_vain(r, op) then return { 'revoked', '0' } end
if r.state ~= 'h' then
  remember_in_vain(r, op, 'v')
  return { 'revoked', '0' }
end
finish(r, 'v', op, KEYS[2], KEYS[3])
return { 'revoked', '1' }
