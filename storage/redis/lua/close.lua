-- The fleet of this master is moved to others. Its marker and counters go. What stays is which fleet it
-- was, its predecessors, a floor that is no lower than any token of it, and which fleet follows. A move that was broken
-- off goes on from that.
--
-- ARGV     the incarnation that it was to get, the floor, the fleet that follows, and the note for
--          people who find the key
-- Answers  1; 0 where another incarnation stands, or it is of no fleet
local fleet = KEYS[1]
local marker = redis.call('HMGET', fleet, 'next', 'fleet', 'max_ttl_ms', 'max_extensions',
                          'readers', 'predecessors')
if marker[1] ~= ARGV[1] or not marker[2] then
    return 0
end
redis.call('UNLINK', fleet)
redis.call('HSET', fleet, 'note', ARGV[4], 'closed',
           marker[2] .. ':' .. ARGV[2] .. ':' .. marker[3] .. ':' .. (marker[4] or '0') .. ':' .. ARGV[3] ..
               (marker[5] and ':' .. marker[5] or ''),
           'floor', ARGV[2])
if marker[6] then
    redis.call('HSET', fleet, 'predecessors', marker[6])
end
return 1
