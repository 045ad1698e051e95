-- A master that restarted with its data names its new run in the marker, if the marker is still the one
-- that was judged.
--
-- KEYS[1]  the fleet hash
-- ARGV     fleet id, member, run id before, nonce ('' for none), run id now
local was = redis.call('HMGET', KEYS[1], 'fleet', 'member', 'run', 'nonce', 'state')
if was[1] ~= ARGV[1] or was[2] ~= ARGV[2] or was[3] ~= ARGV[3] or (was[4] or '') ~= ARGV[4] or
   was[5] ~= 'active' then
    return 0
end
redis.call('HSET', KEYS[1], 'run', ARGV[5])
redis.call('HDEL', KEYS[1], 'nonce')
return 1
