-- Confirming: the masters that gave another number than the token get the token.

-- Returns whether a lock may be confirmed. The attempt alone is not enough. A late copy of the take
-- may have locked again under it, after another holder had the lock. Then its number is higher than
-- the token.
local function agrees(value, tag, token, flags)
    if not begins(value, tag, TAG) and
       not (has(flags, 'a') and begins(value, id_of(tag) .. '.*', TAG)) then
        return false
    end
    local _, number = parse(value)
    return number <= tonumber(token)
end

-- The usual case, without parsing: this master gave the token, so its counter is not below the
-- token.
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
        rewrite(key, compose(id, tonumber(token), extensions, from, owner))
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

handlers.C = confirm
groups.H = {handler = confirm_group, arguments = 3, arguments_of_each = 2}
