-- Taking a lock again: retries, waiters and groups.

-- Returns the number of a lock that is found under the sender's own lock id. The number of an
-- imported lock is not from this master: the lock is counted again, and counts from here on. Its
-- lease stays.
local function found(key, value, tag, slot)
    local id, number, extensions, from, owner = parse(value)
    local native = from == ''
    if not native then
        number = count(slot)
    end
    if not native or id ~= tag then
        rewrite(key, compose(tag, number, extensions, '', owner))
    end
    return number, native
end

-- Returns the rest of the lease of one's own lock, without its delay. 0 or less: it is in its
-- delay.
local function own_lease_ms(key, value)
    local _, _, _, _, owner = parse(value)
    return own_left_ms(key) - delay_of(owner)
end

-- A lock that is found under the same attempt.
local function take_again(key, value, tag, slot)
    local left = own_lease_ms(key, value)
    local number, native = found(key, value, tag, slot)
    return native and number or {0, math.max(left, 1), number}
end

-- An idempotent retry: a client repeats an acquire with its own lock id. A lock under that id is
-- the client's lock, by any attempt. No clean-up may remove it any more. The lease stays, and the
-- answer has its rest. If the lock is in its delay, its lease is over, so it is counted and locked
-- again. If that attempt fails, its clean-up must not free the name.
local function take_retried(key, tag, slot, ttl_ms, owner, hint)
    local value = lock_at(key)
    local id = id_of(tag)
    if not begins(value, id, ID) or begins(value, tag, TAG) then
        return take_new(key, tag, slot, ttl_ms, owner, hint)
    end
    local left = own_lease_ms(key, value)
    if left <= 0 then
        local number = count(slot, hint)
        put(key, compose(id .. '.*', number, '0', '', owner), ttl_ms)
        return number
    end
    return {1, left, (found(key, value, id .. '.*', slot))}
end

-- A waiter's ticket is the highest number that its server knew when the waiter arrived. The key of
-- the waiters has the lowest ticket. A release keeps the free lock for that ticket for NEXT_MS, in
-- another key. During that time a waiter with a higher ticket, or without one, finds the lock held
-- by no holder. This affects only the order (fence/master/next.h).
local NEXT, NEXT_MS = 'pawl:next:', 50

-- Returns the ticket of a key; nothing if it has none.
local function ticket_in(value)
    return type(value) == 'string' and #value <= 16 and find(value, '^[1-9]%d*$') and tonumber(value) or nil
end

-- Publishing may fail: the lock is released.
local function freed(resource, id, ticket)
    if ticket_in(ticket) then
        redis.pcall('SET', NEXT .. resource, ticket, 'PX', NEXT_MS)
    end
    redis.pcall('PUBLISH', 'pawl:freed', id .. ':' .. resource)
end

local LEASE_MAX_MS = 86400000 -- nobody waits longer, also where a key got a longer expiry by hand
local function wait_for(key, remaining_ms, ticket)
    remaining_ms = math.min(remaining_ms, LEASE_MAX_MS)
    if remaining_ms > 0 then
        local wait = WAIT .. string.sub(key, #LOCK + 1)
        local lowest = ticket_in(redis.pcall('GET', wait))
        if not lowest or (ticket and ticket < lowest) then
            lowest = ticket
        end
        call('SET', wait, lowest and decimal(lowest) or '', 'PX', remaining_ms)
        if not call('SET', WAITING, '', 'PX', remaining_ms, 'NX') then
            call('PEXPIRE', WAITING, remaining_ms, 'GT')
        end
        waiting = true
    end
end

local function take_or_wait(key, tag, slot, ttl_ms, owner, flags, hint, ticket_of)
    local reply = (has(flags, 'a') and take_retried or take_new)(key, tag, slot, ttl_ms, owner,
                                                                 tonumber(hint))
    if has(flags, 'w') and type(reply) == 'table' and #reply == 2 then
        wait_for(key, reply[1], ticket_of(reply[2]))
    end
    return reply
end

-- 'a': may be an idempotent retry. 'w': the call waits if the lock is held, and has no ticket. The
-- hint may be 0.
local function take_flagged(key, tag, slot, ttl_ms, owner, flags, hint)
    return take_or_wait(key, tag, slot, ttl_ms, owner, flags, hint, function () return nil end)
end

-- The highest number that this master gave for the slot.
local function latest(slot)
    local counted = call('HGET', fleet, slot) or '0'
    if not find(counted, '^%d+$') then
        error(MISCOUNTED, 0)
    end
    return math.max(tonumber(counted), tonumber(floor or '0'))
end

-- A call that waits and has a ticket; 0: its server knows none.
local function take_waiting(key, tag, slot, ttl_ms, owner, flags, hint, ticket)
    local next_key = NEXT .. string.sub(key, #LOCK + 1)
    local next_ticket = somebody_waits() and ticket_in(redis.pcall('GET', next_key))
    local left = next_ticket and call('PTTL', next_key)
    ticket = ticket ~= '0' and tonumber(ticket) or nil
    if next_ticket and left >= 0 and left <= NEXT_MS and not lock_at(key) then -- more: a clock was set back
        if not ticket or ticket > next_ticket then
            local number = latest(slot)
            left = math.max(left, 1)
            wait_for(key, left, ticket or number)
            return {left, compose('~', number, '0', '', '')}
        end
        call('DEL', next_key)
    end
    return take_or_wait(key, tag, slot, ttl_ms, owner, flags, hint, function (value)
        return ticket or ticket_in(string.match(value, '^[^:]*:(%d+):'))
    end)
end

-- Returns whether a lock is the sender's own: of this attempt, or with 'a' under its lock id.
local function is_own(value, tag, flags)
    return begins(value, tag, TAG) or (has(flags, 'a') and begins(value, id_of(tag), ID))
end

-- Returns the answer if the lock at KEYS[first + k - 1] is held under another lock id.
local function in_the_way(first, k, tag, flags)
    local key = KEYS[first + k - 1]
    index = k - 1
    local value = lock_at(key)
    if value and not is_own(value, tag, flags) then
        local remaining_ms = left_ms(key)
        if has(flags, 'w') then
            wait_for(key, remaining_ms, nil)
        end
        return {remaining_ms, value, k - 1}
    end
end

-- Takes all of the locks from KEYS[first] on, or none of them. 'g': a lock and a gate, which is not
-- taken. A held gate turns a sender away if its lock id does not have the lock yet.
local function take_group(first, at)
    local n, flags, tag, ttl_ms, owner = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3],
                                         ARGV[at + 4], ARGV[at + 5]
    local idempotent, gated = has(flags, 'a'), has(flags, 'g')
    local held = nil
    index = 0
    if gated and not is_own(lock_at(KEYS[first]), tag, flags) then
        held = in_the_way(first, n, tag, flags)
    end
    n = gated and n - 1 or n
    for k = 1, n do
        held = held or in_the_way(first, k, tag, flags)
        if held then
            return held
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
    if gated then
        replies[3 + n] = replies[2 + n] -- each lock of a group has one
    end
    return replies
end

functions.take_again, functions.freed = take_again, freed
handlers.F, handlers.W = take_flagged, take_waiting
groups.G = {handler = take_group, arguments = 5, arguments_of_each = 2}
