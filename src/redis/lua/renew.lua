-- KEYS lease; ARGV by id ttl
local r = read()
if not r then return { 'not-holder', 'f' } end
if not matches(r, ARGV[1], ARGV[2]) then return not_holder(r, ARGV[1], ARGV[2]) end
if ARGV[3] ~= '0' then extend(r, tonumber(ARGV[3])) end
return { 'renewed', number(r.expires - now), number(r.term) }
