-- The least that takes and releases locks with a counter, many in one call: no fleet, no lineage, and no
-- value is parsed. What pawld's own scripts cost beside this is the price of what they check.
--
-- KEYS[1]    the hash of the counters
-- KEYS[2..]  for each request its lock
-- ARGV       for each request the lock id, the lease in milliseconds (0: release it), and the counter

local KEYS, ARGV, call = KEYS, ARGV, redis.call
local counters, replies = KEYS[1], {}
for i = 2, #KEYS do
    local key, at, reply = KEYS[i], 3 * i - 5, 0
    local id, ttl_ms = ARGV[at], ARGV[at + 1]
    if ttl_ms == '0' then
        if call('GET', key) == id then
            reply = call('DEL', key)
        end
    elseif call('SET', key, id, 'PX', ttl_ms, 'NX') then
        reply = call('HINCRBY', counters, ARGV[at + 2], '1')
    end
    replies[i - 1] = reply
end
return replies
