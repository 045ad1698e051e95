-- The last step of taking this master back: it is active under its new incarnation. Follows lineage_check.lua.
--
-- ARGV  the incarnation, which member of the fleet this is, the view that is known, how many steps of
--       clear.lua and install.lua were done since the mark, and a floor for all counters (0: none)
-- Answers  1; 0 where another incarnation stands, steps are missing, or the lineage changed since the
--          mark
local marker = redis.call('HMGET', fleet, 'state', 'next', 'lineage', 'durable', 'sets', 'bytes',
                          'progress', 'view', 'floor', 'answers')
if marker[1] ~= 'joining' or marker[2] ~= ARGV[1] or
   strayed(marker[3], marker[4], marker[5], marker[6], marker[10]) or
   tonumber(marker[7] or '0') ~= tonumber(ARGV[4]) then
    return 0
end

local function greater(own, named)
    return own and tonumber(own) > tonumber(named) and own or named
end

local me = tonumber(ARGV[2])
local known, view = {}, {}
for number in string.gmatch(marker[8] or '', '%d+') do
    known[#known + 1] = number
end
for number in string.gmatch(ARGV[3], '%d+') do
    local i = #view + 1
    view[i] = i == me and ARGV[1] or greater(known[i], number)
end
local floor = greater(marker[9], ARGV[5])
if floor ~= '0' then
    redis.call('HSET', fleet, 'floor', floor)
end
-- All masters of a token floor get a new incarnation at once. A disk of before is behind that, also where
-- no server has told this master so yet.
if redis.call('HGET', fleet, 'init') == 'floor' then
    redis.call('HSET', fleet, 'positions', table.concat(view, ':0,') .. ':0')
end
redis.call('HSET', fleet, 'state', 'active', 'view', table.concat(view, ','), 'unswept', '0')
redis.call('HDEL', fleet, 'next', 'progress', 'init', 'intact', 'doubt', 'closed')
return 1
