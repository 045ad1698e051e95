-- A master that is not durable any more says so in its marker, so that its next restart is not
-- trusted. The way back is to be admitted anew.
--
-- KEYS[1]  the fleet hash
-- ARGV     fleet id, member, run id
local marker = redis.call('HMGET', KEYS[1], 'fleet', 'member', 'run', 'durable')
if marker[1] ~= ARGV[1] or marker[2] ~= ARGV[2] or marker[3] ~= ARGV[3] or marker[4] ~= 'yes' then
    return 0
end
redis.call('HSET', KEYS[1], 'durable', 'no')
return 1
