-- Marks a blank master as a member of a new fleet.
--
-- KEYS[1]  the fleet hash
-- ARGV     the marker, field and value in turn
if redis.call('EXISTS', KEYS[1]) == 1 then
    return 0
end
-- The note is for whoever comes across the key. It is also longer than what Redis keeps in a list of
-- fields (hash-max-listpack-value), so that a counter is found by hash from the first one on.
redis.call('HSET', KEYS[1], 'note', "Pawl's marker and token counters of this master. Delete it only " ..
           'to retire the fleet: a master without it has forgotten, and must not vote.', unpack(ARGV))
return 1
