-- Extending a lock, and joining a lock that other masters have.

-- FREE: there is no lock, and the request may join. TAKEN: another id has the lock. PAST: FREE or
-- TAKEN, and the counter is above the token. BELOW: the lock is extended, and its number is below
-- the token. BROKEN: an operator broke the grant with this token, or a later grant of the lock id.
local FREE = 0
local EXHAUSTED, SUPERSEDED, UNCOUNTED, PAST, TAKEN, BELOW, BROKEN = -1, -2, -3, -4, -5, -6, -7

-- A key beside a lock exists if a grant of a lock id was broken: "<token>:<by whom>".
local NOTE = 'pawl:broken:'
local function note_at(key, id)
    return NOTE .. id .. ':' .. string.sub(key, #LOCK + 1)
end

-- Only a refusal is looked up, since a broken grant has no lock here.
local function unless_broken(reply, key, id, token)
    local word = type(reply) == 'table' and reply[1] or reply
    if word == FREE then
        return reply
    end
    local number, by = string.match(call('GET', note_at(key, id)) or '', '^(%d+):(.*)$')
    return number and tonumber(number) >= tonumber(token) and {BROKEN, by} or reply
end

-- The number of extensions of a lock, and its label if it has one: a server may copy the lock to
-- masters that lack it. BELOW or SUPERSEDED replace the extensions.
local function labelled(word, owner)
    return owner == '' and word or {word, owner}
end

-- Returns how long a lock stays that is extended now. Its delay comes after its lease. No lock
-- lasts longer than the longest lease of the fleet.
local function lasts_ms(owner, ttl_ms)
    local delay_ms = owner == '' and 0 or delay_of(owner)
    if delay_ms == 0 then
        return ttl_ms
    end
    return math.min(ttl_ms + delay_ms, tonumber(call('HGET', fleet, 'max_ttl_ms')) or LEASE_MAX_MS)
end

-- A holder may extend many locks in one call, which names the shared terms once: lock id, TTL and cap. The TTL
-- stays a text, too, so that Redis gets the text.
local shared_id, shared_start, shared_head, shared_ttl, shared_ttl_ms, shared_cap, usual_lock
local function share(id, ttl, cap)
    shared_id, shared_start, shared_head, usual_lock = id, id .. '.', id .. '.*:', {}
    shared_ttl, shared_ttl_ms, shared_cap = ttl, tonumber(ttl), tonumber(cap)
end

-- Most locks of such a call differ only in name and number. Everything that follows from the other parts is worked
-- out for the first lock, and again for a lock whose other parts differ. TAIL has from and owner. An imported lock
-- proves something only if a majority had the lock.
local match = string.match
local function work_out(extensions, tail)
    local from, owner = match(tail, '^(%d*):(.*)$')
    local extended, lasts = extensions + 1, lasts_ms(owner, shared_ttl_ms)
    usual_lock = {
        extensions = extensions, tail = tail,
        if_superseded = from == '' and labelled(SUPERSEDED, owner) or UNCOUNTED,
        refusal = from ~= '' and not counts(from) and UNCOUNTED or extended > shared_cap and EXHAUSTED,
        lasts_ms = lasts, expiry = lasts == shared_ttl_ms and shared_ttl or lasts,
        behind_number = ':' .. extended .. ':' .. tail,
        same = labelled(extended, owner), below = labelled(BELOW, owner),
    }
    return usual_lock
end

-- Never shortens a lease. An extended lock belongs to the holder, and to no attempt. The late
-- clean-up of a failed attempt must not remove it.
local function lengthen(key, value, token)
    local number, extensions, tail = match(value, '^[^:]*:(%d+):(%d+):(%d*:.*)$', #shared_id + 2)
    if not number then
        error(FOREIGN, 0)
    end
    local lock, same = usual_lock, number == token
    if extensions ~= lock.extensions or tail ~= lock.tail then
        lock = work_out(extensions, tail)
    end
    if not same and tonumber(number) > tonumber(token) then
        return unless_broken(lock.if_superseded, key, shared_id, token)
    elseif lock.refusal then
        return unless_broken(lock.refusal, key, shared_id, token)
    end
    local left = left_ms(key)
    if left < 0 then
        error(ENDLESS, 0)
    end
    put(key, shared_head .. number .. lock.behind_number, left > lock.lasts_ms and left or lock.expiry)
    return same and lock.same or lock.below
end

-- Returns the answer if this id does not have the lock. A tombstone may stand for its lock, so it
-- counts for neither side.
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

-- Never restores a lock that has ended.
local function extend_also(key, token, slot)
    local value = lock_at(key)
    if value and find(value, shared_start, 1, true) == 1 then
        return lengthen(key, value, token)
    end
    return unless_broken(lacks(value, slot, token), key, shared_id, token)
end

local function extend(key, id, ttl, cap, token, slot)
    share(id, ttl, cap)
    return extend_also(key, token, slot)
end

-- The same for a master that lacks the lock, in a round that found it elsewhere. If nothing was
-- counted since, the lock is taken under the tag of the round. The counter is raised first: if it
-- cannot be, there must be no lock that a later extension counts.
local function join(key, tag, ttl_ms, cap, token, slot, extensions, owner)
    share(id_of(tag), ttl_ms, cap)
    local reply = extend_also(key, token, slot)
    if reply ~= FREE then
        return reply
    end
    call('HSET', fleet, slot, token) -- which the counter is not above
    put(key, compose(tag, tonumber(token), extensions, '', owner), ttl_ms)
    return labelled(tonumber(extensions), owner)
end

handlers.E, handlers.A, handlers.J = extend, extend_also, join
