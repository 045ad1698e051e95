-- Brings up to date what the marker notes of the process. That is how many bytes it has received, and
-- where its append-only file is known to be complete now, config_calls(). Follows lineage.lua.
--
-- ARGV  fleet id, member
local marker = redis.call('HMGET', fleet, 'fleet', 'member', 'state', 'lineage', 'durable', 'sets',
                          'bytes')
if marker[1] ~= ARGV[1] or marker[2] ~= ARGV[2] or marker[3] ~= 'active' or
   strayed(marker[4], marker[5], marker[6], marker[7]) then
    return 0
end
redis.call('HSET', fleet, 'bytes', bytes_now())
if not is_rewriting(redis.call('INFO', 'persistence')) then
    redis.call('HSET', fleet, 'sets', config_calls())
end
return 1
