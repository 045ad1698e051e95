-- Removes some of the locks of a master that is being taken back, from a cursor on.
--
-- KEYS[1]  the fleet hash
-- ARGV     the nonce, the cursor ('0' at first), a pattern that all locks match, how many at a time
-- Answers  the next cursor, '0' when all are gone; nothing where another nonce stands
if redis.call('HGET', KEYS[1], 'nonce') ~= ARGV[1] then
    return false
end
redis.call('HINCRBY', KEYS[1], 'progress', 1) -- for those who wait for this leader
local found = redis.call('SCAN', ARGV[2], 'MATCH', ARGV[3], 'COUNT', ARGV[4])
if #found[2] > 0 then
    redis.call('UNLINK', unpack(found[2]))
end
return found[1]
