-- A member is taken back: this master records its new incarnation, which is the one in the view that is
-- named, and answers its own counters, some in each call. Every call names the view again, so that
-- counters which were forgotten between two of them are not taken for what they were. Follows view.lua.
--
-- ARGV     the view, the fleet, which member of it this master is; the first slot, and how many of them
-- Answers  numbers with a space between: the slot to go on from (0: that was all), the floor, then slot
--          and counter in turn
local marker = redis.call('HMGET', fleet, 'state', 'view', 'fleet', 'member', 'floor')
local refused = refusal(marker, ARGV[1], ARGV[2], ARGV[3])
if refused then
    return refused
end
local SLOTS = 16384
local first = tonumber(ARGV[4])
local last = math.min(first + tonumber(ARGV[5]), SLOTS) - 1
local slots = {}
for slot = first, last do
    slots[#slots + 1] = tostring(slot)
end
local counters = redis.call('HMGET', fleet, unpack(slots))
local numbers = {last + 1 < SLOTS and last + 1 or 0, marker[5] or '0'}
for i, slot in ipairs(slots) do
    if counters[i] then
        numbers[#numbers + 1] = slot
        numbers[#numbers + 1] = counters[i]
    end
end
return table.concat(numbers, ' ')
