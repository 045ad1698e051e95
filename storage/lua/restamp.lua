-- A master that restarted with its data names its new run in the marker, if the marker is still the one
-- that was judged. Where it was about to be taken back as another incarnation, others may know that one
-- by now, so it is that one from here on: it forgot nothing.
--
-- KEYS[1]  the fleet hash
-- ARGV     fleet id, member, run id before, nonce ('' for none), run id now
local fleet = KEYS[1]
local was = redis.call('HMGET', fleet, 'fleet', 'member', 'run', 'nonce', 'state', 'next', 'view')
if was[1] ~= ARGV[1] or was[2] ~= ARGV[2] or was[3] ~= ARGV[3] or (was[4] or '') ~= ARGV[4] or
   was[5] ~= 'active' then
    return 0
end
if was[6] then
    local view = {}
    for number in string.gmatch(was[7], '%d+') do
        view[#view + 1] = #view + 1 == tonumber(ARGV[2]) and was[6] or number
    end
    redis.call('HSET', fleet, 'view', table.concat(view, ','))
end
redis.call('HSET', fleet, 'run', ARGV[5])
redis.call('HDEL', fleet, 'nonce', 'next', 'progress')
return 1
