-- A member is taken back, and this master recorded its new incarnation. It answers a page of its
-- counters or of its locks. Every call checks that it is still what it was when it recorded. Otherwise
-- it may have forgotten something between two pages. Follows lineage_check.lua and view.lua.
--
-- ARGV[1..3]  the view that it recorded under, the fleet, which member of it this master is
-- ARGV[4,5]   the member that is taken back, and the incarnation that it is to get
-- ARGV[6..8]  'counters' or 'locks', the cursor ('0' at first), how many at a time
-- Answers     the next cursor ('0': that was all), and the page: a MessagePack array for install.lua.
--             Nothing where another incarnation stands
local call, format = redis.call, string.format
local VALUE_MAX = 512 -- bytes of a lock; Pawl writes less

local marker = call('HMGET', fleet, unpack(MARKER_FIELDS))
local refused = gone(marker, ARGV[2], ARGV[3])
if refused then
    return refused
end
local me, target = tonumber(ARGV[3]), tonumber(ARGV[4])
local known, named = incarnations(marker[2]), incarnations(ARGV[1])
if known[me] ~= named[me] or known[target] ~= tonumber(ARGV[5]) then
    return false
end

local SLOTS = 16384

-- The same with named counters: field and counter alternate. Their cursors are those of HSCAN, and
-- come after the slots. A page may have a few more fields than it looks at: each has at most some
-- 300 bytes.
local function read_named(cursor, count)
    local found = call('HSCAN', fleet, format('%.0f', cursor), 'MATCH', 'n:*', 'COUNT', count)
    local page = {'counters', marker[9] or '0'}
    for _, text in ipairs(found[2]) do
        page[#page + 1] = text
    end
    local next_cursor = found[1] == '0' and '0' or format('%.0f', SLOTS + found[1])
    return {next_cursor, #page > 2 and cmsgpack.pack(page) or ''}
end

-- 'counters', the floor, then slot and counter alternate. Names follow, if there are any.
local function read_counters(first, count)
    if first >= SLOTS then
        return read_named(first - SLOTS, count)
    end
    local last = math.min(first + count, SLOTS) - 1
    local slots = {}
    for slot = first, last do
        slots[#slots + 1] = tostring(slot)
    end
    local counters = call('HMGET', fleet, unpack(slots))
    local page = {'counters', marker[9] or '0'}
    for i, slot in ipairs(slots) do
        if counters[i] then
            page[#page + 1] = slot
            page[#page + 1] = counters[i]
        end
    end
    return {tostring(last + 1), cmsgpack.pack(page)} -- names follow, whatever the marker says of their number
end

local time = call('TIME')
local NOW_MS = time[1] * 1000 + math.floor(time[2] / 1000)

-- 'locks', then for each lock: key, "<lock id>.<attempt>:<number>:<extensions>::<owner>", from, and
-- the rest of its lease in milliseconds. Values that Pawl did not write are passed over.
local function read_locks(cursor, count)
    local found = call('SCAN', cursor, 'MATCH', 'pawl:lock:*', 'COUNT', count)
    local keys, page, at = found[2], {'locks'}, 1
    local values = #keys > 0 and call('MGET', unpack(keys)) or {}
    for i, key in ipairs(keys) do
        local value = values[i] or ''
        local lock, from, left_ms
        local plain, lease_ms = unlease(value)
        value = plain or value
        if string.byte(value) == 64 then -- '@': imported just now (install.lua)
            local expiry_ms
            expiry_ms, from, lock =
                string.match(value, '^@(%d+)@0*(%d+)@([^:]+:%d+:%d+::.*)$')
            left_ms = lock and math.max(expiry_ms - NOW_MS, 0)
        elseif #value <= VALUE_MAX then
            local from_at, from_end = string.match(value, '^[^:]+:%d+:%d+:()%d*():')
            if from_at then
                from = string.sub(value, from_at, from_end - 1)
                lock = from == '' and value or
                       string.sub(value, 1, from_at - 1) .. string.sub(value, from_end)
                left_ms = lease_ms and lease_left(key, lease_ms) or call('PTTL', key)
            end
        end
        if lock then
            page[at + 1], page[at + 2], page[at + 3], page[at + 4] = key, lock, from, left_ms
            at = at + 4
        end
    end
    return {found[1], at > 1 and cmsgpack.pack(page) or ''}
end

if ARGV[6] == 'counters' then
    return read_counters(tonumber(ARGV[7]), tonumber(ARGV[8]))
end
return read_locks(ARGV[7], ARGV[8])
