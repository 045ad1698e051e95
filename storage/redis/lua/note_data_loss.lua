#!lua flags=allow-oom
-- Notes in the marker that this master has lost data since it was admitted. After a restart it
-- would look as if it had not, and would be trusted if no other master can be asked.
--
-- KEYS[1]  the fleet hash
-- ARGV     fleet id, member, run and lineage in the marker that was judged
local fleet = KEYS[1]
local was = redis.call('HMGET', fleet, 'fleet', 'member', 'run', 'lineage')
if was[1] ~= ARGV[1] or was[2] ~= ARGV[2] or was[3] ~= ARGV[3] or was[4] ~= ARGV[4] then
    return 0
end
redis.call('HSET', fleet, 'doubt', 'yes')
return 1
