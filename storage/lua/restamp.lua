-- A master that restarted with its data names its new run in the marker, if the marker is still the one
-- that was judged. Its incarnation stays the one that a majority knows. What another server meant it to
-- be, and some of the others may have recorded, stays written beside it.
--
-- KEYS[1]  the fleet hash
-- ARGV     fleet id, member, run id before, nonce ('' for none), run id now
local fleet = KEYS[1]
local was = redis.call('HMGET', fleet, 'fleet', 'member', 'run', 'nonce', 'state')
if was[1] ~= ARGV[1] or was[2] ~= ARGV[2] or was[3] ~= ARGV[3] or (was[4] or '') ~= ARGV[4] or
   was[5] ~= 'active' then
    return 0
end
redis.call('HSET', fleet, 'run', ARGV[5])
redis.call('HDEL', fleet, 'nonce', 'progress')
return 1
