-- A member is taken back: this master records its new incarnation, which is the one in the view that is
-- named, and answers its own counters. In one script, so that nothing under an older incarnation is
-- counted here after they were read. Follows view.lua.
--
-- ARGV     the view, the fleet, which member of it this master is
-- Answers  numbers with a space between: the floor, then slot and counter in turn
local marker = redis.call('HMGET', fleet, 'state', 'view', 'fleet', 'member', 'floor')
local refused = refusal(marker, ARGV[1], ARGV[2], ARGV[3])
if refused then
    return refused
end
local numbers = {marker[5] or '0'}
local fields = redis.call('HGETALL', fleet)
for i = 1, #fields, 2 do
    if string.match(fields[i], '^%d+$') then
        numbers[#numbers + 1] = fields[i]
        numbers[#numbers + 1] = fields[i + 1]
    end
end
return table.concat(numbers, ' ')
