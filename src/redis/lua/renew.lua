-- KEYS lease; ARGV id fence ttl
local id, fence = ARGV[1], ARGV[2]
local r = read()
if not r then return { 'not-holder', 'f', fence } end
if not matches(r, id, fence) then return not_holder(r, id, fence) end
if ARGV[3] ~= '0' then extend(r, tonumber(ARGV[3])) end
return { 'renewed', number(r.expires - now), number(r.term), fence }
