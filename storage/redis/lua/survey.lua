-- A bootstrap has marked this master: which number is the highest that any of its counters has, or its
-- floor. One script, since no number rises meanwhile. Follows lineage_check.lua.
--
-- ARGV     the incarnation that it is to get, and 'yes' where it counts as one that forgot nothing
-- Answers  the number; nothing where another incarnation stands, or where it forgot since it was looked
--          at and counts as one that did not; an error where a counter is none
local TOKEN_MAX = 9007199254740991 -- 2^53 - 1
local marker = redis.call('HMGET', fleet, 'next', 'intact', 'lineage', 'durable', 'sets', 'bytes',
                          'answers')
if marker[1] ~= ARGV[1] then
    return false
end
if ARGV[2] == 'yes' and
   (marker[2] ~= 'yes' or strayed(marker[3], marker[4], marker[5], marker[6], marker[7])) then
    return false
end
local fields = redis.call('HGETALL', fleet)
local highest = '0'
for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if name == 'floor' or string.find(name, '^%d+$') or string.find(name, '^n:') then
        if not string.find(value, '^%d+$') or #value > 16 or tonumber(value) > TOKEN_MAX then
            return redis.error_reply('PAWLCOUNTER The counter ' .. name .. ' in its key ' .. fleet ..
                                     ' is not one that Pawl wrote: mend or delete it')
        end
        if tonumber(value) > tonumber(highest) then
            highest = value
        end
    end
end
return highest
