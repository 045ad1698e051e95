-- One call carries every request of a loop turn for this master. Follows lineage.lua and view.lua.
--
-- KEYS[1]    the fleet hash
-- KEYS[2..]  for each request the locks that it is about: one, or as many as it says
-- ARGV[1]    the view that the sender works under
-- ARGV[2,3]  the fleet, and which member of it this master is taken for
-- ARGV[4..]  for each request its letter, and what that letter takes
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
    local since_ms = told and time_ms - tonumber(call('HGET', fleet, 'probed') or '0') or PROBE_MS
    local due = since_ms < 0 or since_ms >= PROBE_MS
    call('HINCRBY', fleet, 'probed', told and due and format('%.0f', since_ms) or '0')
    call('SET', 'pawl:probe', '', 'PX', '1', 'XX') -- which is never there
    if due then
        call('HSET', fleet, 'probe', string.rep('.', PROBE_BYTES))
    end
    return 1
end

if #KEYS == 1 then
    return gone(marker, ARGV[2], ARGV[3]) or probe()
end

local refused = refusal(marker, ARGV[1], ARGV[2], ARGV[3])
if refused then
    return refused
end
local floor = marker[9] -- below it no counter counts: set after a majority lost its memory

-- What Pawl did not write, and what has come to its end. An error of a request is one of these, and
-- names the index of the lock in a group. Other errors are in Redis' own words.
local FOREIGN, ENDLESS, SPENT, MISCOUNTED = 'PAWLFOREIGN', 'PAWLENDLESS', 'PAWLSPENT', 'PAWLMISCOUNTED'
local index -- of the lock in hand, counted from 0
local function sign_of(problem)
    local text = tostring(problem)
    local signs = { -- made here, as few calls need them
        {'WRONGTYPE', FOREIGN}, {'ERR hash value is not an integer', MISCOUNTED},
        {'ERR increment or decrement would overflow', SPENT},
        {FOREIGN, FOREIGN}, {ENDLESS, ENDLESS}, {SPENT, SPENT}, {MISCOUNTED, MISCOUNTED},
    }
    for _, sign in ipairs(signs) do
        if find(text, sign[1], 1, true) == 1 then
            return sign[2]
        end
    end
    return nil
end

-- A lock that was imported just now has no expiry, but names it (install.lua). It gets that when it is
-- asked for first, or by sweep.lua.
local IMPORTED = byte('@')
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

local function lock_at(key)
    local value = call('GET', key)
    if value and #value > VALUE_MAX then
        error(FOREIGN, 0)
    elseif value and byte(value) == IMPORTED then
        return settle(key, value)
    end
    return value
end

-- Whether a lock begins with a name, its lock id or its tag, and that is all of the name.
local ID, TAG = byte('.'), byte(':') -- end it
local function begins(value, name, mark)
    return value and find(value, name, 1, true) == 1 and byte(value, #name + 1) == mark
end

local ID_MIN, TOMBSTONE = 22, byte('~')
local function parse(value)
    local id, number, extensions, from, owner =
        string.match(value, '^([^:]*):(%d+):(%d+):(%d*):(.*)$')
    if not id or (#id < ID_MIN and byte(id) ~= TOMBSTONE) then
        error(FOREIGN, 0)
    end
    return id, tonumber(number), tonumber(extensions), from, owner
end

-- What is left of a lease in milliseconds; -1 where nothing ends it. An imported lock may still lack its
-- expiry where memory is out.
local function left_ms(key)
    local left = call('PTTL', key)
    if left < 0 then
        local expiry_ms = string.match(call('GET', key) or '', '^@(%d+)@')
        return expiry_ms and math.max(expiry_ms - clock_ms(), 0) or left
    end
    return left
end

-- The same of one's own lock, at least 1.
local function own_left_ms(key)
    local left = left_ms(key)
    if left < 0 then
        error(ENDLESS, 0)
    end
    return math.max(left, 1)
end

-- %.0f is exact for every counter, but slow; %d takes a C long, of 32 bits at the least.
local function decimal(number)
    return format(number < 2147483648 and '%d' or '%.0f', number)
end

local function compose(id, number, extensions, from, owner)
    return id .. ':' .. decimal(number) .. ':' .. extensions .. ':' .. from .. ':' .. owner
end

local function id_of(tag)
    return string.match(tag, '^[^.]*')
end

local function has(flags, flag)
    return find(flags, flag, 1, true) ~= nil
end

-- Nobody's: not deleted, confirmed or extended by anybody.
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

-- A hint is a number that another master gave for the slot. The counter is raised to it first, so that
-- both agree. One too far above it is ignored, so that no hint uses a counter up.
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

-- Step 1. Asking twice for one attempt changes nothing. Only a lock that is free takes the hint.
local function take_new(key, tag, slot, ttl_ms, owner, hint)
    local value = lock_at(key)
    if begins(value, tag, TAG) then
        local left = own_left_ms(key)
        local number, native = found(key, value, tag, slot)
        return native and number or {0, left, number}
    elseif value then
        return {left_ms(key), value}
    end
    local number = count(slot, hint)
    call('SET', key, compose(tag, number, '0', '', owner), 'PX', ttl_ms)
    return number
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

-- Beside a lock, a key is there while somebody waits for it. The release of the lock is published then.
-- Another key is there while somebody waits for any lock. Where it is absent, a release reads the lock
-- alone. The first key lives no longer than the lease, after which waiters ask by themselves. The
-- second lives at least as long as any of the first.
local LOCK, WAIT, WAITING = 'pawl:lock:', 'pawl:wait:', 'pawl:waiting'
local LEASE_MAX_MS = 86400000 -- nobody waits longer, also where a key got a longer expiry by hand
local somebody_waits -- nil: not yet looked

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

local function take_plain(key, tag, slot, ttl_ms, owner)
    return take_new(key, tag, slot, ttl_ms, owner, nil)
end

local function take_hinted(key, tag, slot, ttl_ms, owner, hint)
    return take_new(key, tag, slot, ttl_ms, owner, tonumber(hint))
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
local FREE = 0
local EXHAUSTED, SUPERSEDED, UNCOUNTED, PAST, TAKEN, BELOW = -1, -2, -3, -4, -5, -6

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
    if begins(value, id, ID) then
        return lengthen(key, value, id, token, ttl_ms, cap)
    end
    return lacks(value, slot, token)
end

-- The same for a master that lacks the lock, in a round that found it elsewhere. Where nothing was
-- counted since, it is locked under the tag of the round. The counter is raised first: where it cannot
-- be, no lock may stand that a later extension counts.
local function join(key, tag, token, ttl_ms, cap, slot, extensions, owner)
    local value, id = lock_at(key), id_of(tag)
    if begins(value, id, ID) then
        return lengthen(key, value, id, token, ttl_ms, cap)
    end
    local reply = lacks(value, slot, token)
    if reply ~= FREE then
        return reply
    end
    call('HSET', fleet, slot, token) -- which the counter is not above
    call('SET', key, compose(tag, tonumber(token), extensions, '', owner), 'PX', ttl_ms)
    return extended(tonumber(extensions), owner)
end

-- ---- the rest -------------------------------------------------------------------------------------

local function drop(key, id)
    if somebody_waits == nil then
        somebody_waits = call('EXISTS', WAITING) == 1
    end
    if not somebody_waits then
        call('DEL', key)
        return 1
    end
    local resource = string.sub(key, #LOCK + 1)
    if call('DEL', key, WAIT .. resource) == 2 then
        redis.pcall('PUBLISH', 'pawl:freed', id .. ':' .. resource) -- may fail: the lock is released
    end
    return 1
end

-- 2: the lock was extended, joined, found by a retry or imported. More masters may have it than its
-- attempt asked.
local function release(key, id)
    local value = lock_at(key)
    if is_tombstone(value) then
        return UNCOUNTED
    elseif not value then
        return 0
    elseif not begins(value, id, ID) then
        parse(value)
        return 0
    end
    drop(key, id)
    return find(value, '^[^:*]+:%d+:0::', #id + 2) and 1 or 2
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

local handlers = {
    T = {take_plain, 4}, N = {take_hinted, 5}, F = {take_flagged, 6}, C = {confirm, 4},
    E = {extend, 5}, J = {join, 7}, R = {release, 1}, U = {undo, 1}, I = {inspect, 0},
}

-- About as many locks as the first argument says. How many arguments there are for each of them, and
-- besides.
local group_handlers = {
    G = {take_group, 2, 5}, H = {confirm_group, 2, 3}, V = {undo_group, 0, 2},
}

-- Each request succeeds or fails by itself. An error half-way keeps what was written before it, so it
-- must not hide the answers of the others.
local replies = {}
local i, at = 2, 4
while i <= #KEYS do
    local letter = ARGV[at]
    local handler = handlers[letter]
    local locks, arguments, ok, reply = 1, nil, nil, nil
    index = 0
    if handler then
        arguments = handler[2]
        ok, reply = pcall(handler[1], KEYS[i], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3],
                          ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], ARGV[at + 7])
    else
        handler = group_handlers[letter]
        locks = tonumber(ARGV[at + 1])
        arguments = handler[3] + handler[2] * locks
        ok, reply = pcall(handler[1], i, at)
    end
    if not ok then
        local sign = sign_of(reply)
        reply = redis.error_reply(sign and sign .. ' ' .. index or tostring(reply))
    end
    replies[#replies + 1] = reply
    i = i + locks
    at = at + 1 + arguments
end
return replies
