-- Breaking: an operator ends a grant.

-- Raises the counter above the token: then no extension joins, and the next number is higher. If
-- the counter cannot be raised, the lock stays.
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

-- Ends the grant of a lock id. If the lock id has a higher number, that number is of a later grant.
-- If another lock id has a number that is not above the token, the server may have taken the wrong
-- lock id for the holder. In both cases the answer reports the lock, and the lock stays. So does a
-- tombstone: no holder extends it.
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

handlers.B = break_grant
