-- Answers how long the locks of this master last. Its fleet is moved, and a bootstrap has marked
-- it, so no lock is added meanwhile. Follows lineage_check.lua.
--
-- ARGV     the incarnation that it was to get, the cursor ('0' at first), a pattern that all locks match,
--          and how many keys at a time
-- Answers  the next cursor, '0' when all were read, and the longest time of these in milliseconds;
--          nothing if another incarnation stands
local marker = redis.call('HMGET', fleet, 'next', 'max_ttl_ms')
if marker[1] ~= ARGV[1] then
    return false
end
local found = redis.call('SCAN', ARGV[2], 'MATCH', ARGV[3], 'COUNT', ARGV[4])
local time = redis.call('TIME')
local NOW_MS = time[1] * 1000 + math.floor(time[2] / 1000)
local longest_ms = 0
for _, key in ipairs(found[2]) do
    -- An imported lock has its expiry in its value; a key without an expiry is none that Pawl wrote.
    local value = redis.call('GET', key) or ''
    local imported_ms = string.match(value, '^@(%d+)@')
    local _, lease_ms = unlease(value)
    local left_ms = imported_ms and imported_ms - NOW_MS or lease_ms and lease_left(key, lease_ms) or
                    redis.call('PTTL', key)
    left_ms = left_ms == -1 and tonumber(marker[2]) or left_ms
    longest_ms = math.max(longest_ms, left_ms)
end
return {found[1], string.format('%d', math.min(longest_ms, tonumber(marker[2])))}
