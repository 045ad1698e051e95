-- A master that restarted with its data names its new run in the marker, if the marker is still the one
-- that was judged; and it becomes what others know it by, where an earlier try to take it back told them.
--
-- KEYS[1]  the fleet hash
-- ARGV     fleet id, member, run id before, nonce ('' for none), run id now, incarnation
local fleet = KEYS[1]
local was = redis.call('HMGET', fleet, 'fleet', 'member', 'run', 'nonce', 'state')
if was[1] ~= ARGV[1] or was[2] ~= ARGV[2] or was[3] ~= ARGV[3] or (was[4] or '') ~= ARGV[4] or
   was[5] ~= 'active' then
    return 0
end
local view = {}
for number in string.gmatch(redis.call('HGET', fleet, 'view') or '', '%d+') do
    view[#view + 1] = number
end
local me = tonumber(ARGV[2])
if tonumber(view[me]) < tonumber(ARGV[6]) then
    view[me] = ARGV[6]
end
redis.call('HSET', fleet, 'run', ARGV[5], 'view', table.concat(view, ','))
redis.call('HDEL', fleet, 'nonce', 'next', 'progress')
return 1
