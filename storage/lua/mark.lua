-- Marks a blank master as a member of a new fleet.
--
-- KEYS[1]  the fleet hash
-- ARGV     the marker, field and value in turn
if redis.call('EXISTS', KEYS[1]) == 1 then
    return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1
