-- A master that rejoins merges a page of another master's counters or locks (read.lua). Merging is
-- commutative and idempotent: pages may come in any order, and twice. Follows lineage_check.lua.
--
-- ARGV[1]  the incarnation that it is to get
-- ARGV[2]  the set that holds the master which wrote the page alone, as a number
-- ARGV[3]  how many masters are a majority
-- ARGV[4]  the page; '' only shows that the leader is alive
-- ARGV[5]  how many steps of clear.lua and of this come before it since the mark
-- Answers  1, also to a copy, which does nothing; 0 if another incarnation stands, the lineage changed
--          since the mark, or steps before it are missing
local call, match, find, sub, format = redis.call, string.match, string.find, string.sub, string.format
local bor = bit.bor

local marker = call('HMGET', fleet, 'state', 'next', 'lineage', 'durable', 'sets', 'bytes',
                    'max_ttl_ms', 'progress', 'answers', 'leases')
if marker[1] ~= 'joining' or marker[2] ~= ARGV[1] or
   strayed(marker[3], marker[4], marker[5], marker[6], marker[9]) then
    return 0
end
local done, before = tonumber(marker[8] or '0'), tonumber(ARGV[5])
if done ~= before then
    return done > before and 1 or 0
end
call('HINCRBY', fleet, 'progress', 1)
if ARGV[4] == '' then
    return 1
end

local MAJORITY = tonumber(ARGV[3])
local TOMBSTONE = '~'
local FIELDS_AT_A_TIME = 1000 -- of one HSET; unpack() has a bound

-- ---- counters -------------------------------------------------------------------------------------

-- Returns the greater counter. A value that is no number is kept or copied: a count refuses it, and
-- an operator has to repair it. It must not keep this master from rejoining.
local function greater(own, read)
    if not own or not tonumber(read) then
        return read
    end
    return (not tonumber(own) or tonumber(own) > tonumber(read)) and own or read
end

-- Slots and names alike: either is a field. A new name is one more of those that are bound.
local function merge_counters(page)
    local floor = greater(call('HGET', fleet, 'floor'), page[2])
    if floor ~= '0' then
        call('HSET', fleet, 'floor', floor)
    end
    for first = 3, #page, FIELDS_AT_A_TIME do
        local last = math.min(first + FIELDS_AT_A_TIME, #page + 1) - 1
        local slots, fields = {}, {}
        for i = first, last, 2 do
            slots[#slots + 1] = page[i]
        end
        local own = call('HMGET', fleet, unpack(slots))
        for k, slot in ipairs(slots) do
            fields[2 * k - 1] = slot
            fields[2 * k] = greater(own[k], page[first + 2 * k - 1])
        end
        local made = call('HSET', fleet, unpack(fields))
        if made > 0 and sub(slots[1], 1, 2) == 'n:' then
            call('HINCRBY', fleet, 'names', made)
        end
    end
end

-- ---- locks ----------------------------------------------------------------------------------------

-- Locks of a page are written with one MSET, which costs a fifth of as many SET. So they have no expiry
-- yet, but name it: "@<expiry>@<from>@" before the lock as a page has it. The expiry is in milliseconds
-- of this master's wall clock, of 13 digits. From is the set of masters, of 3 digits. requests.lua and
-- sweep.lua make an ordinary lock of it. What comes before the lock is put together of two pieces,
-- "@<expiry>" and "@<from>@". Where the module keeps leases, the first piece is "=<lease>": what is left of
-- the lease, which begins when the lock is looked at. No mark but mark.lua's changes which of them it is.
local EXPIRY_END, FROM_AT, FROM_END, LOCK_AT = 14, 15, 19, 20
local time = call('TIME')
local NOW_MS = time[1] * 1000 + math.floor(time[2] / 1000)
local LONGEST_MS = tonumber(marker[7]) -- of all leases
local BEGIN, FROM_MS = '@%013d', NOW_MS
if marker[10] then
    BEGIN, FROM_MS = '=%013d', 0
end
local NONE, SOURCE = '@000@', format('@%03d@', ARGV[2])
local UNIONS = {[NONE] = {}, [SOURCE] = {}} -- few are met

-- Returns how many masters had an imported lock that counts.
local function masters_in(set)
    local n = 0
    while set > 0 do
        n = n + set % 2
        set = math.floor(set / 2)
    end
    return n
end

local function counts(from)
    return from == '' or masters_in(tonumber(from)) >= MAJORITY
end

-- Two locks of the same id are one lock, which belongs to no attempt. A lock of another id, or a
-- tombstone, makes a tombstone: it cannot be known here which lock counts.
local function unite(own, other)
    local LOCK = '^([^.:]+)%.?([^:]*):(%d+):(%d+)::(.*)$'
    local own_id, own_attempt, own_number, own_extensions, owner = match(own, LOCK)
    local id, attempt, number, extensions = match(other, LOCK)
    if own_id ~= id or id == TOMBSTONE then
        return TOMBSTONE .. ':0:0::'
    end
    return id .. '.' .. (own_attempt == attempt and attempt or '*') .. ':' ..
           greater(own_number, number) .. ':' .. greater(own_extensions, extensions) .. '::' .. owner
end

local function united(own_set, set)
    local union = UNIONS[set][own_set]
    if not union then
        union = format('@%03d@', bor(match(own_set, '%d+'), match(set, '%d+')))
        UNIONS[set][own_set] = union
    end
    return union
end

-- Runs for each lock: the usual case makes few strings.
local function merge(had, lock, from, left_ms)
    if left_ms < 0 or left_ms > LONGEST_MS then
        left_ms = LONGEST_MS -- a clock jumped there, or it was done by hand
    end
    local expiry = format(BEGIN, FROM_MS + left_ms + 1)
    local set = counts(from) and SOURCE or NONE
    if had then
        if #had ~= LOCK_AT - 1 + #lock or not find(had, lock, LOCK_AT, true) then
            lock = unite(sub(had, LOCK_AT), lock)
        end
        set = united(sub(had, FROM_AT, FROM_END), set)
        local own_expiry = sub(had, 1, EXPIRY_END)
        expiry = own_expiry > expiry and own_expiry or expiry
    end
    return expiry .. set .. lock
end

local function merge_locks(page)
    local keys, n = {}, 0
    for i = 2, #page, 4 do
        n = n + 1
        keys[n] = page[i]
    end
    local own, written = call('MGET', unpack(keys)), {}
    for k = 1, n do -- SCAN may name a key twice, with the same lock
        local at = 4 * k - 2
        written[2 * k - 1] = keys[k]
        written[2 * k] = merge(own[k], page[at + 1], page[at + 2], page[at + 3])
    end
    call('MSET', unpack(written))
    begin_leases(keys)
end

local page = cmsgpack.unpack(ARGV[4])
if page[1] == 'counters' then
    merge_counters(page)
else
    merge_locks(page)
end
return 1
