-- Closes this master: its fleet is moved to other masters. The script removes the marker and the
-- counters. The master keeps the id of its fleet, the predecessors of the fleet, a floor that is not
-- below any token of the fleet, and the id of the fleet that follows. A move that was interrupted
-- continues from there.
--
-- ARGV     the incarnation that it was to get, the floor, the fleet that follows, and the note for
--          people who find the key
-- Answers  1; 0 if another incarnation stands, or it is of no fleet
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
