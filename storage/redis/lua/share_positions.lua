#!lua flags=allow-oom
-- A server sends this master the last position that it knows of each member
-- (fence/protocol/position.h). The marker keeps the latest. A server that later judges a restarted
-- member reads them there. Other faults of this master do not matter: the positions stay true.
--
-- KEYS[1]  the fleet hash
-- ARGV     fleet id, member, the positions
-- Answers  1; 0 if this master is another one
local fleet = KEYS[1]
local marker = redis.call('HMGET', fleet, 'fleet', 'member', 'positions')
if marker[1] ~= ARGV[1] or marker[2] ~= ARGV[2] then
    return 0
end

local function positions_in(text)
    local list = {}
    for incarnation, writes in string.gmatch(text or '', '(%d+):(%d+)') do
        list[#list + 1] = {incarnation, writes}
    end
    return list
end

local function is_later(named, known)
    if tonumber(named[1]) ~= tonumber(known[1]) then
        return tonumber(named[1]) > tonumber(known[1])
    end
    return tonumber(named[2]) > tonumber(known[2])
end

local known, named, latest = positions_in(marker[3]), positions_in(ARGV[3]), {}
for i = 1, #named do
    local position = (not known[i] or is_later(named[i], known[i])) and named[i] or known[i]
    latest[i] = position[1] .. ':' .. position[2]
end
latest = table.concat(latest, ',')
if latest ~= marker[3] then
    redis.call('HSET', fleet, 'positions', latest)
end
return 1
