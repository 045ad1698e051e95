-- A master that seems to have kept all it knew writes its present run and lineage into the marker.
-- Marker and lineage must still be those that were judged. If it was being taken back, and no other
-- master is left to import from, it becomes active under the incarnation that it was to get. Follows
-- lineage_check.lua.
--
-- ARGV     fleet id, member, run and lineage in the marker ('' for none), run and lineage now, and bytes in
--          the marker. After a reset of the statistics run and lineage are what they were. But each mark and
--          restamp notes the bytes anew: so a late copy of this finds others
-- Answers  1; 0 where something changed, or a server told this master a later position than it has
local RESTAMP_WRITES = 1048576
local was = redis.call('HMGET', fleet, 'fleet', 'member', 'run', 'lineage', 'state', 'intact', 'next',
                       'view', 'doubt', 'bytes', 'positions', 'writes')
local half_way = was[5] == 'joining' and was[6] == 'yes'
if was[1] ~= ARGV[1] or was[2] ~= ARGV[2] or was[3] ~= ARGV[3] or (was[4] or '') ~= ARGV[4] or
   (was[5] ~= 'active' and not half_way) or lineage_now() ~= ARGV[6] or was[9] or
   tonumber(was[10] or 0) ~= tonumber(ARGV[7]) then
    return 0
end

local function part_of(text, i)
    for part in string.gmatch(text or '', '[^,]+') do
        i = i - 1
        if i == 0 then
            return part
        end
    end
end

local me = tonumber(ARGV[2])
local told, writes = string.match(part_of(was[11], me) or '', '^(%d+):(%d+)$')
local own = tonumber(half_way and was[7] or part_of(was[8], me))
if told and (tonumber(told) > own or (tonumber(told) == own and tonumber(writes) > tonumber(was[12] or '0'))) then
    return 0
end
redis.call('HDEL', fleet, '') -- as view.lua says: without it a master that is full refuses what follows
if half_way then -- its peers may have recorded the incarnation that it was to get
    local view = {}
    for number in string.gmatch(was[8], '%d+') do
        view[#view + 1] = number
    end
    view[tonumber(ARGV[2])] = was[7]
    redis.call('HSET', fleet, 'view', table.concat(view, ','), 'unswept', '0')
end
redis.call('HSET', fleet, 'run', ARGV[5], 'lineage', ARGV[6], 'sets', sets_now(), 'bytes',
           bytes_now(), 'answers', answers_now(ARGV[6]), 'state', 'active')
redis.call('HINCRBY', fleet, 'writes', RESTAMP_WRITES) -- a copy of the disk of before is behind that
redis.call('HDEL', fleet, 'next', 'progress', 'intact')
if redis.call('HEXISTS', fleet, 'unswept') == 1 or redis.call('HEXISTS', fleet, 'leases') == 1 then
    redis.call('HSET', fleet, 'unswept', '0') -- the cursor meant something to another process
end
return 1
