-- The locks of this master, and the requests that most calls carry: taking a lock and releasing it.
-- Follows lineage_check.lua and view.lua; the files of rare/ and requests.lua follow.
--
-- A lock is "<lock id>.<attempt>:<number>:<extensions>:<from>:<owner>". Neither id has a '.' or a ':';
-- the owner comes last, since it may hold anything. From is empty where this master gave the number. Of
-- an imported lock it is the set of masters that had one which counts, as a number. A tombstone has '~'
-- for its lock id, and is nobody's (install.lua). Lua numbers are doubles: a number that may pass 10^14
-- is formatted in full, and no counter passes 2^53 - 1. Numbers go to redis.call() as strings, which
-- spares it a conversion. What is used for each request is a local: looking up a global costs as much
-- as a short command.

local KEYS, ARGV = KEYS, ARGV
local call, byte, find, format = redis.call, string.byte, string.find, string.format

local TOKEN_MAX = 9007199254740991
local HINT_LEAP = 1048576 -- how far above its own counter a hint is believed
local VALUE_MAX = 512 -- bytes of a lock; Pawl writes less

local marker = call('HMGET', fleet, unpack(MARKER_FIELDS))
local floor = marker[9] -- below it no counter counts: set after a majority lost its memory

-- Errors: data that Pawl did not write, and values that are used up. An error of a request is one
-- of these, and names the index of the lock in a group. Other errors are in Redis' own words.
local FOREIGN, ENDLESS, SPENT, MISCOUNTED = 'PAWLFOREIGN', 'PAWLENDLESS', 'PAWLSPENT', 'PAWLMISCOUNTED'
local FULL, WRITERS = 'PAWLFULL', 'PAWLWRITERS'
local index -- of the lock in hand, counted from 0

-- Rarely used functions are defined on first use. A definition costs as much as a short command.
-- Together they took a quarter of the time of a call that carries two requests.
local define_rare -- rare/begin.lua
local defined
local function rare()
    defined = defined or define_rare()
    return defined
end

-- ---- a lock ---------------------------------------------------------------------------------------

local IMPORTED = byte('@') -- begins one that was imported just now
local LEASED = byte('=') -- begins one that names its lease
local TOMBSTONE = byte('~') -- begins one that is nobody's: not deleted, confirmed or extended by anybody

local function lock_at(key)
    local value = call('GET', key)
    if not value then
        return value
    end
    local first = byte(value)
    if #value > VALUE_MAX then
        error(FOREIGN, 0)
    elseif first == IMPORTED then
        return rare().settle(key, value)
    elseif first == LEASED then
        return rare().leased(key, value)
    end
    return value
end

local function put(key, value, ttl_ms)
    if marker[12] and keeps_leases() then
        call('PAWL.KEEP', key, value, ttl_ms)
    else
        call('SET', key, value, 'PX', ttl_ms)
    end
end

-- Returns whether a lock begins with a name (its lock id or its tag), and the name ends there.
local ID, TAG = byte('.'), byte(':') -- end it
local function begins(value, name, mark)
    return value and find(value, name, 1, true) == 1 and byte(value, #name + 1) == mark
end

-- Returns the rest of a lease in milliseconds; -1 if nothing ends it.
local function left_ms(key)
    local left = call('PTTL', key)
    return left < 0 and rare().imported_left_ms(key, left) or left
end

-- %.0f is exact for every counter, but slow; %d takes a C long, of 32 bits at the least.
local function decimal(number)
    return format(number < 2147483648 and '%d' or '%.0f', number)
end

local function compose(id, number, extensions, from, owner)
    return id .. ':' .. decimal(number) .. ':' .. extensions .. ':' .. from .. ':' .. owner
end

-- ---- taking ---------------------------------------------------------------------------------------

-- A hint is a number that another master gave for the slot. The counter is raised to the hint
-- first, so that both masters agree. A hint too far above the counter is ignored, so that no hint
-- uses a counter up.
local function count(slot, hint)
    local counted = call('HINCRBY', fleet, slot, '1')
    local base = floor and math.max(counted - 1, tonumber(floor)) or counted - 1
    if hint and hint > base and hint <= base + HINT_LEAP then
        base = hint
    end
    if base >= TOKEN_MAX then
        call('HINCRBY', fleet, slot, '-1')
        error(SPENT, 0)
    elseif base >= counted then
        call('HSET', fleet, slot, decimal(base + 1))
    end
    return base + 1
end

-- Takes a lock. A second request for one attempt changes nothing. Only a free lock takes the hint.
local function take_new(key, tag, slot, ttl_ms, owner, hint)
    local value = lock_at(key)
    if begins(value, tag, TAG) then
        return rare().take_again(key, value, tag, slot)
    elseif value then
        return {left_ms(key), value}
    end
    local number = count(slot, hint)
    put(key, compose(tag, number, '0', '', owner), ttl_ms)
    return number
end

local function take_plain(key, tag, slot, ttl_ms, owner)
    return take_new(key, tag, slot, ttl_ms, owner, nil)
end

local function take_hinted(key, tag, slot, ttl_ms, owner, hint)
    return take_new(key, tag, slot, ttl_ms, owner, tonumber(hint))
end

-- ---- releasing ------------------------------------------------------------------------------------

-- A key beside a lock exists while a call waits for the lock. Then its release is published.
-- Another key exists while a call waits for any lock. If it is absent, a release reads only the
-- lock. The first key lives no longer than the lease, after which waiters ask again themselves. The
-- second key lives at least as long as any of the first.
local LOCK, WAIT, WAITING = 'pawl:lock:', 'pawl:wait:', 'pawl:waiting'
local waiting -- nil: not yet looked

local function somebody_waits()
    if waiting == nil then
        waiting = call('EXISTS', WAITING) == 1
    end
    return waiting
end

local function drop(key, id)
    if not somebody_waits() then
        call('DEL', key)
        return 1
    end
    local resource = string.sub(key, #LOCK + 1)
    local ticket = redis.pcall('GET', WAIT .. resource)
    if call('DEL', key, WAIT .. resource) == 2 then
        rare().freed(resource, id, ticket)
    end
    return 1
end

-- 2: the lock was extended, joined, found by a retry or imported. More masters may have it than its
-- attempt asked.
local WRITER = '\29' -- in the owner of each lock of a writer, and in no label

local function release(key, id)
    local value = lock_at(key)
    if not value then
        return 0
    elseif not begins(value, id, ID) then
        return rare().not_released(value)
    elseif find(value, WRITER, 1, true) then
        return rare().release_of_writer(key, id, value)
    end
    drop(key, id)
    return find(value, '^[^:*]+:%d+:0::', #id + 2) and 1 or 2
end

