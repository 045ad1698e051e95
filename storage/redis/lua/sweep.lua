-- Gives imported locks their expiry (install.lua), and removes expired ones. It handles some keys
-- of this master, from the cursor in its marker on. The time of a sweep affects only memory. A
-- cursor is valid in one process only. Follows lineage_check.lua.
--
-- If the module keeps leases, it is handed each lock, and locks that came from a file begin their
-- lease. If it no longer does, its locks get an expiry.
--
-- ARGV     how many keys at a time
-- Answers  1: there are more; 0: all are done, or no server was admitted
local call = redis.call
keeps_leases() -- which may begin the sweep anew
local marker = call('HMGET', fleet, 'state', 'unswept', 'lineage')
if marker[1] ~= 'active' or not marker[2] or marker[3] ~= lineage_now() then
    return 0
end
local time = call('TIME')
local NOW_MS = time[1] * 1000 + math.floor(time[2] / 1000)
local cursor = string.find(marker[2], '^%d+$') and marker[2] or '0'
local found = call('SCAN', cursor, 'MATCH', 'pawl:lock:*', 'COUNT', ARGV[1])
local values = #found[2] > 0 and call('MGET', unpack(found[2])) or {}

local LEASE_MAX_MS = 86400000 -- no fleet allows a longer lease

local function put(key, lock, left_ms)
    if keeps_leases() then
        redis.pcall('PAWL.KEEP', key, lock, math.min(left_ms, LEASE_MAX_MS)) -- a key that is no lock stays
    else
        call('SET', key, lock, 'PX', left_ms)
    end
end

local function sweep_leased(key, value)
    local lock, lease_ms = unlease(value)
    local left_ms = lock and lease_left(key, lease_ms)
    if not lock or keeps_leases() then
        return
    elseif left_ms > 0 then
        put(key, lock, lease_ms)
    else
        call('DEL', key)
    end
end

-- A lock that a script took.
local function sweep_plain(key, value)
    local left_ms = string.find(value, '^[^:]+:%d+:%d+:%d*:') and call('PTTL', key) or 0
    if left_ms > 0 then
        put(key, value, left_ms)
    end
end

for i, key in ipairs(found[2]) do
    local value = values[i] or ''
    local expiry_ms, from, head, tail =
        string.match(value, '^@(%d+)@0*(%d+)@([^:]+:%d+:%d+:)(:.*)$')
    if head and tonumber(expiry_ms) <= NOW_MS then
        call('DEL', key)
    elseif head then
        put(key, head .. from .. tail, expiry_ms - NOW_MS)
    elseif string.byte(value) == 61 then -- '='
        sweep_leased(key, value)
    elseif keeps_leases() then
        sweep_plain(key, value)
    end
end
if found[1] == '0' then
    call('HDEL', fleet, 'unswept')
    return 0
end
call('HSET', fleet, 'unswept', found[1])
return 1
