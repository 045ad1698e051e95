-- What few calls need: probes, locks that were imported, retries, waiters, groups, extensions, clean-ups.
-- Follows locks.lua. The rest of this file is one function, whose body is not indented.

function define_seldom()

local now_ms
local function clock_ms()
    if not now_ms then
        local time = call('TIME')
        now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    return now_ms
end

-- A call without requests asks whether a lock would be taken here. It uses the commands that take and
-- confirm one, so Redis refuses it where it refuses those. It changes nothing that means anything. A
-- full disk shows only once the file grows by a block, so the file grows by half of one. That happens
-- once in PROBE_MS, for any number of calls.
local PROBE_MS, PROBE_BYTES = 400, 2048
local function probe()
    local told, time_ms = pcall(clock_ms) -- not where this user may not ask
    local probed = call('HGET', fleet, 'probed') or '0'
    if not find(probed, '^%d+$') then
        call('HDEL', fleet, 'probed')
        probed = '0'
    end
    local since_ms = told and time_ms - tonumber(probed) or PROBE_MS
    local due = since_ms < 0 or since_ms >= PROBE_MS
    call('HINCRBY', fleet, 'probed', told and due and format('%.0f', since_ms) or '0')
    call('SET', 'pawl:probe', '', 'PX', '1', 'XX') -- which is never there
    if due then
        call('HSET', fleet, 'probe', string.rep('.', PROBE_BYTES))
    end
    return 1
end

local function sign_of(problem)
    local text = tostring(problem)
    local signs = {
        {'WRONGTYPE', FOREIGN}, {'ERR hash value is not an integer', MISCOUNTED},
        {'ERR increment or decrement would overflow', SPENT},
        {FOREIGN, FOREIGN}, {ENDLESS, ENDLESS}, {SPENT, SPENT}, {MISCOUNTED, MISCOUNTED},
        {FULL, FULL},
    }
    for _, sign in ipairs(signs) do
        if find(text, sign[1], 1, true) == 1 then
            return sign[2]
        end
    end
    return nil
end

-- What a request that failed with @problem is answered.
local function error_of(problem)
    local sign = sign_of(problem)
    return redis.error_reply(sign and sign .. ' ' .. index or tostring(problem))
end

-- ---- a lock ---------------------------------------------------------------------------------------

-- A lock that was imported just now has no expiry, but names it (install.lua). It gets that when it is
-- asked for first, or by sweep.lua.
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
    redis.pcall('SET', key, value, 'PXAT', expiry_ms) -- where memory is out, it may still be released
    return value
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

-- The same as left_ms() where a key has no expiry: an imported lock may lack it where memory is out.
local function imported_left_ms(key, left)
    local expiry_ms = string.match(call('GET', key) or '', '^@(%d+)@')
    return expiry_ms and math.max(expiry_ms - clock_ms(), 0) or left
end

-- What is left of one's own lock, at least 1.
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

-- Whether an imported lock was had by a majority, as one that counts.
local function counts(from)
    local set, masters, n = tonumber(from), 0, #incarnations(ARGV[1])
    while set > 0 do
        masters = masters + set % 2
        set = math.floor(set / 2)
    end
    return masters > math.floor(n / 2)
end

-- ---- taking ---------------------------------------------------------------------------------------

-- The number of a lock that is found here under the sender's own lock id. One that was imported is no
-- number of this master's: it is counted anew, and the lock counts from here on. Its lease stays.
local function found(key, value, tag, slot)
    local id, number, extensions, from, owner = parse(value)
    local native = from == ''
    if not native then
        number = count(slot)
    end
    if not native or id ~= tag then
        call('SET', key, compose(tag, number, extensions, '', owner), 'KEEPTTL')
    end
    return number, native
end

-- A lock that is found under the very attempt.
local function take_again(key, value, tag, slot)
    local left = own_left_ms(key)
    local number, native = found(key, value, tag, slot)
    return native and number or {0, left, number}
end

-- An idempotent retry: a client repeats an acquire with its own lock id. A lock under that id is its
-- lock, of any attempt. No clean-up may take it any more. The lease stays as it is, and the answer
-- tells what is left of it.
local function take_retried(key, tag, slot, ttl_ms, owner, hint)
    local value = lock_at(key)
    local id = id_of(tag)
    if not begins(value, id, ID) or begins(value, tag, TAG) then
        return take_new(key, tag, slot, ttl_ms, owner, hint)
    end
    local left = own_left_ms(key)
    return {1, left, (found(key, value, id .. '.*', slot))}
end

local LEASE_MAX_MS = 86400000 -- nobody waits longer, also where a key got a longer expiry by hand
local function wait_for(key, remaining_ms)
    remaining_ms = math.min(remaining_ms, LEASE_MAX_MS)
    if remaining_ms > 0 then
        call('SET', WAIT .. string.sub(key, #LOCK + 1), '', 'PX', remaining_ms)
        if not call('SET', WAITING, '', 'PX', remaining_ms, 'NX') then
            call('PEXPIRE', WAITING, remaining_ms, 'GT')
        end
        somebody_waits = true
    end
end

-- 'a': may be an idempotent retry. 'w': the call waits where the lock is held. The hint may be 0.
local function take_flagged(key, tag, slot, ttl_ms, owner, flags, hint)
    local reply = (has(flags, 'a') and take_retried or take_new)(key, tag, slot, ttl_ms, owner,
                                                                 tonumber(hint))
    if has(flags, 'w') and type(reply) == 'table' and #reply == 2 then
        wait_for(key, reply[1])
    end
    return reply
end

-- All of the locks from KEYS[first] on, or none of them.
local function take_group(first, at)
    local n, flags, tag, ttl_ms, owner = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3],
                                         ARGV[at + 4], ARGV[at + 5]
    local idempotent = has(flags, 'a')
    for k = 1, n do
        local key = KEYS[first + k - 1]
        index = k - 1
        local value = lock_at(key)
        if value and not begins(value, tag, TAG) and
           not (idempotent and begins(value, id_of(tag), ID)) then
            local remaining_ms = left_ms(key)
            if has(flags, 'w') then
                wait_for(key, remaining_ms)
            end
            return {remaining_ms, value, k - 1}
        end
    end
    local replies = {1, 0} -- all were found; the least that one of those has left
    for k = 1, n do
        index = k - 1
        local slot, hint = ARGV[at + 4 + 2 * k], tonumber(ARGV[at + 5 + 2 * k])
        local number = (idempotent and take_retried or take_new)(KEYS[first + k - 1], tag, slot,
                                                                 ttl_ms, owner, hint)
        if type(number) == 'table' then
            replies[1] = math.min(replies[1], number[1])
            replies[2] = replies[2] == 0 and number[2] or math.min(replies[2], number[2])
            number = number[3]
        else
            replies[1] = 0
        end
        replies[2 + k] = number
    end
    return replies
end

-- ---- confirming -----------------------------------------------------------------------------------

-- Step 4. The attempt alone is not enough. A late copy of step 1 may have locked again under it, after
-- another holder's turn. Then its number is higher than the token.
local function agrees(value, tag, token, flags)
    if not begins(value, tag, TAG) and
       not (has(flags, 'a') and begins(value, id_of(tag) .. '.*', TAG)) then
        return false
    end
    local _, number = parse(value)
    return number <= tonumber(token)
end

-- The usual case, told without parsing: this master gave the token. Its counter is not below it.
local function gave(value, tag, token)
    local head = tag .. ':' .. token .. ':'
    return value and find(value, head, 1, true) == 1 and find(value, '^%d+::', #head + 1) ~= nil
end

local function raise(key, value, slot, token)
    local id, number, extensions, from, owner = parse(value)
    local counter = tonumber(call('HGET', fleet, slot) or '0')
    if counter < tonumber(token) then
        call('HSET', fleet, slot, token)
    end
    if number < tonumber(token) then
        call('SET', key, compose(id, tonumber(token), extensions, from, owner), 'KEEPTTL')
    end
end

local function confirm(key, tag, slot, token, flags)
    local value = lock_at(key)
    if gave(value, tag, token) then
        return 1
    elseif not agrees(value, tag, token, flags) then
        return 0
    end
    raise(key, value, slot, token)
    return 1
end

local function confirm_group(first, at)
    local n, flags, tag = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
    local values = {}
    for k = 1, n do
        values[k] = lock_at(KEYS[first + k - 1])
        if not agrees(values[k], tag, ARGV[at + 3 + 2 * k], flags) then
            return 0
        end
    end
    for k = 1, n do
        raise(KEYS[first + k - 1], values[k], ARGV[at + 2 + 2 * k], ARGV[at + 3 + 2 * k])
    end
    return 1
end

-- ---- extending ------------------------------------------------------------------------------------

-- FREE: no lock is there, and it may be joined. TAKEN: another id has it. PAST: one of the two, and the
-- counter is above the token. BELOW: it is extended, and its number is below the token.
-- BROKEN: an operator broke the grant with this token, or a later one of the lock id.
local FREE = 0
local EXHAUSTED, SUPERSEDED, UNCOUNTED, PAST, TAKEN, BELOW, BROKEN = -1, -2, -3, -4, -5, -6, -7

-- Beside a lock, a key is there where a grant of a lock id was broken: "<token>:<by whom>".
local NOTE = 'pawl:broken:'
local function note_at(key, id)
    return NOTE .. id .. ':' .. string.sub(key, #LOCK + 1)
end

-- Only what is not extended is looked up. A grant that was broken has no lock here.
local function unless_broken(reply, key, id, token)
    if type(reply) ~= 'number' or reply >= 0 or reply == BELOW then
        return reply
    end
    local number, by = string.match(call('GET', note_at(key, id)) or '', '^(%d+):(.*)$')
    return number and tonumber(number) >= tonumber(token) and {BROKEN, by} or reply
end

-- The extensions that a lock has had, and its label if it has one. Only a lock whose number is the token
-- is told so: another server may bring it to the masters that lack it.
local function extended(extensions, owner)
    return owner == '' and extensions or {extensions, owner}
end

-- Never shortens a lease. An extended lock is the holder's, of any attempt. The late clean-up of an
-- attempt that failed must not take it any more. What was imported proves something only where a
-- majority had it.
local function lengthen(key, value, id, token, ttl_ms, cap)
    local _, number, extensions, from, owner = parse(value)
    token = tonumber(token)
    if number > token then
        return from == '' and SUPERSEDED or UNCOUNTED
    elseif from ~= '' and not counts(from) then
        return UNCOUNTED
    elseif extensions >= tonumber(cap) then
        return EXHAUSTED
    end
    call('SET', key, compose(id .. '.*', number, extensions + 1, from, owner), 'KEEPTTL')
    if call('PEXPIRE', key, ttl_ms, 'GT') == 0 and call('PTTL', key) < 0 then
        call('SET', key, value)
        error(ENDLESS, 0)
    end
    return number == token and extended(extensions + 1, owner) or BELOW
end

-- What to say where the lock is not this id's. A tombstone may stand for its lock, so it says nothing.
local function lacks(value, slot, token)
    if is_tombstone(value) then
        return UNCOUNTED
    elseif value then
        parse(value)
    end
    local counter = call('HGET', fleet, slot) or '0'
    if not find(counter, '^%-?%d+$') then
        error(MISCOUNTED, 0)
    elseif math.max(tonumber(counter), tonumber(floor or '0')) > tonumber(token) then
        return PAST
    end
    return value and TAKEN or FREE
end

-- Never brings back a lock that is gone.
local function extend(key, id, token, ttl_ms, cap, slot)
    local value = lock_at(key)
    local reply
    if begins(value, id, ID) then
        reply = lengthen(key, value, id, token, ttl_ms, cap)
    else
        reply = lacks(value, slot, token)
    end
    return unless_broken(reply, key, id, token)
end

-- The same for a master that lacks the lock, in a round that found it elsewhere. Where nothing was
-- counted since, it is locked under the tag of the round. The counter is raised first: where it cannot
-- be, no lock may stand that a later extension counts.
local function join(key, tag, token, ttl_ms, cap, slot, extensions, owner)
    local value, id = lock_at(key), id_of(tag)
    if begins(value, id, ID) then
        return unless_broken(lengthen(key, value, id, token, ttl_ms, cap), key, id, token)
    end
    local reply = lacks(value, slot, token)
    if reply ~= FREE then
        return unless_broken(reply, key, id, token)
    end
    call('HSET', fleet, slot, token) -- which the counter is not above
    call('SET', key, compose(tag, tonumber(token), extensions, '', owner), 'PX', ttl_ms)
    return extended(tonumber(extensions), owner)
end

-- ---- breaking -------------------------------------------------------------------------------------

-- Above the token no extension joins, and the next number is higher. Where the counter cannot be raised,
-- the lock stays.
local function raise_above(slot, token)
    local counter = call('HGET', fleet, slot) or '0'
    if not find(counter, '^%-?%d+$') then
        error(MISCOUNTED, 0)
    elseif token >= TOKEN_MAX then
        error(SPENT, 0)
    elseif tonumber(counter) <= token then
        call('HSET', fleet, slot, decimal(token + 1))
    end
end

local function note_broken(key, id, token, ttl_ms, by)
    local noted = string.match(call('GET', note_at(key, id)) or '', '^(%d+):')
    if not noted or tonumber(noted) <= tonumber(token) then
        call('SET', note_at(key, id), token .. ':' .. by, 'PX', ttl_ms)
    end
end

-- Takes the lock from the grant of a lock id. A higher number is of a later grant of it. Where another
-- lock id has a number that is not above the token, the server may have taken the wrong one for the
-- holder. Both are told, and stay. So does a tombstone: nobody extends it.
local function break_grant(key, id, token, slot, ttl_ms, by)
    local value, number = lock_at(key), nil
    if value then
        number = select(2, parse(value))
    end
    raise_above(slot, tonumber(token))
    note_broken(key, id, token, ttl_ms, by)
    if not value or is_tombstone(value) then
        return 1
    end
    local is_own, is_later = begins(value, id, ID), number > tonumber(token)
    if is_own == is_later then
        return {left_ms(key), value}
    end
    return is_own and drop(key, id) or 1
end

-- ---- named counters -------------------------------------------------------------------------------

-- A new field of the fleet hash, which holds so many counters at the most.
local function make_room(names_max)
    if tonumber(call('HGET', fleet, 'names') or '0') >= tonumber(names_max) then
        error(FULL, 0)
    end
end

-- Raises the counter to the hint, and by count. A hint tells that another master has the counter: then a
-- read makes it here, too, and the bound on names does not hold. The values from this number down to the one before it are nobody
-- else's.
local function count_named(key, count, hint, names_max)
    local field = 'n:' .. string.sub(key, #LOCK + 1)
    local counter = call('HGET', fleet, field)
    count, hint = tonumber(count), tonumber(hint)
    if not counter and count == 0 and hint == 0 then
        return tonumber(floor or '0') -- it may have counted before the floor was set
    elseif counter and not find(counter, '^%d+$') then
        error(MISCOUNTED, 0)
    elseif not counter and hint == 0 then
        make_room(names_max)
    end
    local number = math.max(tonumber(counter or '0'), tonumber(floor or '0'), hint) + count
    if number > TOKEN_MAX then
        error(SPENT, 0)
    elseif not counter then
        call('HINCRBY', fleet, 'names', '1')
    end
    number = format('%.0f', number)
    if number ~= counter then
        call('HSET', fleet, field, number)
    end
    return tonumber(number)
end

-- ---- the rest -------------------------------------------------------------------------------------

-- What a release answers of a lock that is not this id's. A tombstone may stand for its lock.
local function not_released(value)
    if is_tombstone(value) then
        return UNCOUNTED
    end
    parse(value)
    return 0
end

-- The clean-up of a failed attempt takes back that attempt only. It left nothing where another than Pawl
-- wrote.
local function undo(key, tag)
    local ok, value = pcall(lock_at, key)
    if not ok and sign_of(value) ~= FOREIGN then
        error(value, 0)
    elseif not ok or not begins(value, tag, TAG) then
        return 0
    end
    return drop(key, id_of(tag))
end

local function undo_group(first, at)
    local undone = 0
    for k = 1, tonumber(ARGV[at + 1]) do
        undone = math.max(undone, undo(KEYS[first + k - 1], ARGV[at + 2]))
    end
    return undone
end

local function inspect(key)
    local value = lock_at(key)
    if not value then
        return 0
    end
    return {left_ms(key), value}
end

return {
    probe = probe,
    settle = settle,
    imported_left_ms = imported_left_ms,
    take_again = take_again,
    not_released = not_released,
    error_of = error_of,
    handlers = {F = take_flagged, C = confirm, E = extend, J = join, U = undo, I = inspect,
                K = count_named, B = break_grant},
    -- The first argument is about how many locks. So many arguments there are for each, and besides.
    groups = {
        G = {handler = take_group, arguments = 5, arguments_of_each = 2},
        H = {handler = confirm_group, arguments = 3, arguments_of_each = 2},
        V = {handler = undo_group, arguments = 2, arguments_of_each = 0},
    },
}
end
