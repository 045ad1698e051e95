-- A lock in its forms: imported, owned, a tombstone.

-- A just imported lock has no expiry, but names it (install.lua). It gets the expiry when it is
-- first asked for, or by sweep.lua.
local function settle(key, value)
    local expiry_ms, from, head, tail =
        string.match(value, '^@(%d+)@0*(%d+)@([^:]+:%d+:%d+:)(:.*)$')
    if not expiry_ms then
        error(FOREIGN, 0)
    elseif tonumber(expiry_ms) <= clock_ms() then
        call('DEL', key)
        return false
    end
    value = head .. from .. tail
    pcall(put, key, value, expiry_ms - clock_ms()) -- where memory is out, it may still be released
    return value
end

-- A lock that names its lease.
local function leased(key, value)
    local lock, lease_ms = unlease(value)
    if not lock then
        error(FOREIGN, 0)
    elseif lease_left(key, lease_ms) == 0 then
        return false
    elseif not keeps_leases() then
        redis.pcall('SET', key, lock, 'PX', lease_ms) -- where memory is out, it may still be released
    end
    return lock
end

local ID_MIN = 22
local function parse(value)
    local id, number, extensions, from, owner =
        string.match(value, '^([^:]*):(%d+):(%d+):(%d*):(.*)$')
    if not id or (#id < ID_MIN and byte(id) ~= TOMBSTONE) then
        error(FOREIGN, 0)
    end
    return id, tonumber(number), tonumber(extensions), from, owner
end

-- The same as left_ms() if a key has no expiry: an imported lock may lack it if there is no memory.
local function imported_left_ms(key, left)
    local value = call('GET', key) or ''
    local expiry_ms = string.match(value, '^@(%d+)@')
    local _, lease_ms = unlease(value)
    if lease_ms then
        return lease_left(key, lease_ms)
    end
    return expiry_ms and math.max(expiry_ms - clock_ms(), 0) or left
end

-- The delay of a lock comes after its lease, and its owner names it: "<label>\30<delay>\31<key id>".
local function delay_of(owner)
    return tonumber(string.match(owner, '\30(%d+)') or 0)
end

-- Writes another value to a lock whose lease stays.
local function rewrite(key, value)
    local left = marker[12] and keeps_leases() and left_ms(key) or -1
    if left < 0 then
        call('SET', key, value, 'KEEPTTL')
    else
        call('PAWL.KEEP', key, value, math.max(left, 1))
    end
end

-- Returns the rest of one's own lock, at least 1.
local function own_left_ms(key)
    local left = left_ms(key)
    if left < 0 then
        error(ENDLESS, 0)
    end
    return math.max(left, 1)
end

local function id_of(tag)
    return string.match(tag, '^[^.]*')
end

local function has(flags, flag)
    return find(flags, flag, 1, true) ~= nil
end

local function is_tombstone(value)
    return value and byte(value) == TOMBSTONE
end

-- Returns whether a majority had an imported lock that counts.
local function counts(from)
    local set, masters, n = tonumber(from), 0, #incarnations(ARGV[1])
    while set > 0 do
        masters = masters + set % 2
        set = math.floor(set / 2)
    end
    return masters > math.floor(n / 2)
end

local function inspect(key)
    local value = lock_at(key)
    if not value then
        return 0
    end
    return {left_ms(key), value}
end

functions.settle, functions.leased, functions.imported_left_ms = settle, leased, imported_left_ms
handlers.I = inspect
