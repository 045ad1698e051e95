-- A member is taken back: this master records its new incarnation, which is the one in the view that is
-- named. From here on it refuses a sender that names less. Follows lineage_check.lua and view.lua.
--
-- ARGV     the view, the fleet, which member of it this master is
-- Answers  the position of this master after it
local refused = refusal(redis.call('HMGET', fleet, unpack(MARKER_FIELDS)), ARGV[1], ARGV[2], ARGV[3])
if refused then
    return refused
end
return count_write()
