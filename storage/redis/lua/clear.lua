-- The locks of a master that rejoins no longer count. This removes them, from a cursor on. If the
-- master seems to have kept all its data, the locks stay instead, as imported locks that no master
-- had. Then they block, in case the import never ends. Follows lineage_check.lua.
--
-- ARGV     the incarnation that it is to get, the cursor ('0' at first), a pattern that all locks match,
--          how many keys at a time, and how many steps were done since the mark
-- Answers  the next cursor, '0' when all are done; nothing if another incarnation stands, or other
--          steps were done: a late copy must not touch what was imported since
local call = redis.call
local marker = call('HMGET', fleet, 'next', 'intact', 'max_ttl_ms', 'progress', 'leases')
if marker[1] ~= ARGV[1] or marker[4] ~= ARGV[5] then
    return false
end
call('HINCRBY', fleet, 'progress', 1) -- for those who wait for this leader
local found = call('SCAN', ARGV[2], 'MATCH', ARGV[3], 'COUNT', ARGV[4])
local keys = found[2]
if #keys == 0 then
    return found[1]
elseif marker[2] ~= 'yes' then
    call('UNLINK', unpack(keys))
    return found[1]
end

local time = call('TIME')
local NOW_MS = time[1] * 1000 + math.floor(time[2] / 1000)
local BEGIN, FROM_MS = '@%013d', NOW_MS -- as install.lua says
if marker[5] then
    BEGIN, FROM_MS = '=%013d', 0
end
local values, written, foreign = call('MGET', unpack(keys)), {}, {}
for i, key in ipairs(keys) do
    local value = values[i] or ''
    local plain, lease_ms = unlease(value)
    local expiry_ms, lock = string.match(value, '^@(%d+)@%d+@([^:]+:%d+:%d+::.*)$')
    local left_ms = expiry_ms and math.max(expiry_ms - NOW_MS, 0)
    if not lock then
        local head, tail = string.match(plain or value, '^([^:]+:%d+:%d+:)%d*(:.*)$')
        left_ms = lease_ms and lease_left(key, lease_ms) or call('PTTL', key)
        left_ms = left_ms >= 0 and left_ms or tonumber(marker[3])
        lock = head and head .. tail
    end
    if lock then
        written[#written + 1] = key
        written[#written + 1] = string.format(BEGIN, FROM_MS + left_ms) .. '@000@' .. lock
    else
        foreign[#foreign + 1] = key
    end
end
if #written > 0 then
    call('MSET', unpack(written))
    begin_leases(keys)
end
if #foreign > 0 then
    call('UNLINK', unpack(foreign)) -- install.lua has no place for what Pawl did not write
end
return found[1]
