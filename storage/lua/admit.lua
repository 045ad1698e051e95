-- The last step of taking this master back: its counters are raised to what the others had, and it is
-- active under its new incarnation.
--
-- KEYS[1]  the fleet hash
-- ARGV     the nonce, which member of the fleet this is, the view with its new incarnation, run, durable,
--          how many steps of wipe.lua were done since the claim, then numbers with a space between: the floor, then slot and counter in turn
local fleet = KEYS[1]
local FIELDS_AT_A_TIME = 1000 -- of one HSET; unpack() has a bound
if redis.call('HGET', fleet, 'nonce') ~= ARGV[1] or
   tonumber(redis.call('HGET', fleet, 'progress') or '0') < tonumber(ARGV[6]) then
    return 0
end

local function greater(own, read)
    return own and tonumber(own) > tonumber(read) and own or read
end

local me = tonumber(ARGV[2])
local known, view = {}, {}
for number in string.gmatch(redis.call('HGET', fleet, 'view') or '', '%d+') do
    known[#known + 1] = number
end
for number in string.gmatch(ARGV[3], '%d+') do
    local i = #view + 1
    view[i] = i == me and number or greater(known[i], number)
end

local own, key = {}, nil
for i, field in ipairs(redis.call('HGETALL', fleet)) do
    if i % 2 == 1 then
        key = field
    else
        own[key] = field
    end
end
local floor = string.match(ARGV[7], '^%d+')
local fields = {}
for slot, counter in string.gmatch(string.sub(ARGV[7], #floor + 2), '(%d+) (%d+)') do
    fields[#fields + 1] = slot
    fields[#fields + 1] = greater(own[slot], counter)
    if #fields == FIELDS_AT_A_TIME then
        redis.call('HSET', fleet, unpack(fields))
        fields = {}
    end
end
if #fields > 0 then
    redis.call('HSET', fleet, unpack(fields))
end
floor = greater(own['floor'], floor)
if floor ~= '0' then
    redis.call('HSET', fleet, 'floor', floor)
end
redis.call('HSET', fleet, 'state', 'active', 'run', ARGV[4], 'durable', ARGV[5], 'view',
           table.concat(view, ','))
redis.call('HDEL', fleet, 'nonce', 'next', 'progress')
return 1
