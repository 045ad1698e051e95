-- Extending a lock, and joining a lock that other masters have.

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
    local word = type(reply) == 'table' and reply[1] or reply
    if word >= 0 or word == BELOW then
        return reply
    end
    local number, by = string.match(call('GET', note_at(key, id)) or '', '^(%d+):(.*)$')
    return number and tonumber(number) >= tonumber(token) and {BROKEN, by} or reply
end

-- The extensions that a lock has had, and its label if it has one: a server may bring the lock to the
-- masters that lack it. BELOW or SUPERSEDED stand in place of the extensions.
local function labelled(word, owner)
    return owner == '' and word or {word, owner}
end

-- For how long a lock stands that is extended now. Its delay comes after its lease. No lock lasts longer
-- than the longest lease of the fleet.
local function lasts_ms(owner, ttl_ms)
    local delay_ms = owner == '' and 0 or delay_of(owner)
    if delay_ms == 0 then
        return ttl_ms
    end
    return math.min(ttl_ms + delay_ms, tonumber(call('HGET', fleet, 'max_ttl_ms')) or LEASE_MAX_MS)
end

-- Never shortens a lease. An extended lock is the holder's, of any attempt. The late clean-up of an
-- attempt that failed must not take it any more. What was imported proves something only where a
-- majority had it. A call may extend many locks, so this converts and formats no number that it need not.
-- TTL is the text, and as a number.
local match, LOCK_BEHIND_ID = string.match, '^[^:]*:(%d+):(%d+):(%d*):(.*)$'
local function lengthen(key, value, id, ttl, ttl_ms, cap, token)
    local number, extensions, from, owner = match(value, LOCK_BEHIND_ID, #id + 2)
    if not number then
        error(FOREIGN, 0)
    end
    local same = number == token
    extensions = extensions + 1
    if not same and tonumber(number) > tonumber(token) then
        return from == '' and labelled(SUPERSEDED, owner) or UNCOUNTED
    elseif from ~= '' and not counts(from) then
        return UNCOUNTED
    elseif extensions > cap then
        return EXHAUSTED
    end
    local left, lasts = left_ms(key), lasts_ms(owner, ttl_ms)
    if left < 0 then
        error(ENDLESS, 0)
    end
    put(key, id .. '.*:' .. number .. ':' .. extensions .. ':' .. from .. ':' .. owner,
        left > lasts and left or lasts == ttl_ms and ttl or lasts)
    return labelled(same and extensions or BELOW, owner)
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

-- A holder may extend many locks in one call. What their extensions share is said once. Never brings back
-- a lock that is gone.
local shared_id, shared_ttl, shared_ttl_ms, shared_cap
local function extend_also(key, token, slot)
    local value = lock_at(key)
    local reply
    if begins(value, shared_id, ID) then
        reply = lengthen(key, value, shared_id, shared_ttl, shared_ttl_ms, shared_cap, token)
    else
        reply = lacks(value, slot, token)
    end
    return unless_broken(reply, key, shared_id, token)
end

local function extend(key, id, ttl, cap, token, slot)
    shared_id, shared_ttl, shared_ttl_ms, shared_cap = id, ttl, tonumber(ttl), tonumber(cap)
    return extend_also(key, token, slot)
end

-- The same for a master that lacks the lock, in a round that found it elsewhere. Where nothing was
-- counted since, it is locked under the tag of the round. The counter is raised first: where it cannot
-- be, no lock may stand that a later extension counts.
local function join(key, tag, ttl_ms, cap, token, slot, extensions, owner)
    local value, id = lock_at(key), id_of(tag)
    if begins(value, id, ID) then
        local reply = lengthen(key, value, id, ttl_ms, tonumber(ttl_ms), tonumber(cap), token)
        return unless_broken(reply, key, id, token)
    end
    local reply = lacks(value, slot, token)
    if reply ~= FREE then
        return unless_broken(reply, key, id, token)
    end
    call('HSET', fleet, slot, token) -- which the counter is not above
    put(key, compose(tag, tonumber(token), extensions, '', owner), ttl_ms)
    return labelled(tonumber(extensions), owner)
end

handlers.E, handlers.A, handlers.J = extend, extend_also, join
