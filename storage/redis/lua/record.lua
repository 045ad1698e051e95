-- A member rejoins: this master records the member's new incarnation, from the view in the call.
-- From here on it refuses a sender with an older view. Follows lineage_check.lua and view.lua.
--
-- ARGV     the view, the fleet, which member of it this master is
-- Answers  the position of this master after it
local refused = refusal(redis.call('HMGET', fleet, unpack(MARKER_FIELDS)), ARGV[1], ARGV[2], ARGV[3])
if refused then
    return refused
end
return count_write()
