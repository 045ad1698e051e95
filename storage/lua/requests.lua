-- One call carries every request of a loop turn for this master. Follows view.lua.
--
-- KEYS[1]    the fleet hash
-- KEYS[1+i]  the lock of request i
-- ARGV[1]    the view that the sender works under
-- ARGV[2,3]  the fleet, and which member of it this master is taken for
-- ARGV[4..]  for each request its letter, and what that letter takes
--
-- A lock is "<lock id>.<attempt>:<number>:<extensions>:<owner>". Neither id has a '.' or a ':'; the
-- owner comes last, since it may hold anything. Lua numbers are doubles: whatever may pass 10^14 is
-- formatted in full, and no counter passes 2^53 - 1. Numbers go to redis.call() as strings, which
-- spares it a conversion.

local TOKEN_MAX = 9007199254740991
local VALUE_MAX = 512 -- bytes of a lock; Pawl writes less

local marker = redis.call('HMGET', fleet, 'state', 'view', 'fleet', 'member', 'floor')
local refused = refusal(marker, ARGV[1], ARGV[2], ARGV[3])
if refused then
    return refused
end
local floor = marker[5] -- below it no counter counts: set after a majority lost its memory

local function lock_at(key)
    local value = redis.call('GET', key)
    if value and #value > VALUE_MAX then
        error('a lock here was not written by Pawl')
    end
    return value
end

local function begins(value, prefix)
    return value and string.sub(value, 1, #prefix) == prefix
end

local function parse(value)
    local id, number, extensions, owner = string.match(value, '^([^:]*):(%d+):(%d+):(.*)$')
    if not id then
        error('a lock here was not written by Pawl')
    end
    return id, tonumber(number), tonumber(extensions), owner
end

-- %.0f is exact for every counter, but slow; %d takes a C long, of 32 bits at the least.
local function decimal(number)
    return string.format(number < 2147483648 and '%d' or '%.0f', number)
end

local function compose(id, number, extensions, owner)
    return id .. ':' .. decimal(number) .. ':' .. extensions .. ':' .. owner
end

-- Step 1. Asking twice for one attempt changes nothing.
local function take(key, tag, slot, ttl_ms, owner)
    local value = lock_at(key)
    if begins(value, tag .. ':') then
        local _, number = parse(value)
        return number
    elseif value then
        return {redis.call('PTTL', key), value}
    end
    local number = redis.call('HINCRBY', fleet, slot, '1')
    if floor and number <= tonumber(floor) then
        number = tonumber(floor) + 1
        redis.call('HSET', fleet, slot, decimal(number))
    end
    if number > TOKEN_MAX then
        redis.call('HINCRBY', fleet, slot, '-1')
        error('the counter of slot ' .. slot .. ' is used up')
    end
    redis.call('SET', key, compose(tag, number, '0', owner), 'PX', ttl_ms)
    return number
end

-- Step 4. The attempt alone is not enough: a late copy of step 1 may have locked again under it,
-- after somebody else's turn, and then its number is higher than the token.
local function confirm(key, tag, slot, token)
    local value = lock_at(key)
    if not begins(value, tag .. ':') then
        return 0
    end
    local id, number, extensions, owner = parse(value)
    if number > tonumber(token) then
        return 0
    end
    local counter = tonumber(redis.call('HGET', fleet, slot) or '0')
    if counter < tonumber(token) then
        redis.call('HSET', fleet, slot, token)
    end
    if number < tonumber(token) then
        redis.call('SET', key, compose(id, tonumber(token), extensions, owner), 'KEEPTTL')
    end
    return 1
end

-- Never shortens a lease, and never brings back one that is gone. What is extended here is the holder's,
-- by whichever attempt it came: the late clean-up of an attempt that failed must not take it any more.
local function extend(key, id, token, ttl_ms, cap)
    local value = lock_at(key)
    if not begins(value, id .. '.') then
        return 0
    end
    local _, number, extensions, owner = parse(value)
    if number > tonumber(token) then
        return 0
    elseif extensions >= tonumber(cap) then
        return -1
    end
    redis.call('SET', key, compose(id .. '.*', number, extensions + 1, owner), 'KEEPTTL')
    redis.call('PEXPIRE', key, ttl_ms, 'GT')
    return 1
end

-- Beside a lock, a key that is there while somebody waits for it: whoever drops the lock says so then,
-- and where nobody waits it costs nothing. It lives no longer than the lease, after which waiters look
-- for themselves.
local LOCK, WAIT = 'pawl:lock:', 'pawl:wait:'

local function take_or_wait(key, tag, slot, ttl_ms, owner)
    local reply = take(key, tag, slot, ttl_ms, owner)
    if type(reply) == 'table' and reply[1] > 0 then
        redis.call('SET', WAIT .. string.sub(key, #LOCK + 1), '', 'PX', reply[1])
    end
    return reply
end

local function drop(key, id)
    local resource = string.sub(key, #LOCK + 1)
    if redis.call('DEL', key, WAIT .. resource) == 2 then
        redis.pcall('PUBLISH', 'pawl:freed', id .. ':' .. resource) -- freed it is, heard or not
    end
    return 1
end

local function release(key, id, token)
    local value = lock_at(key)
    if not begins(value, id .. '.') then
        return 0
    end
    if token ~= '0' then
        local _, number = parse(value)
        if number > tonumber(token) then
            return 0
        end
    end
    return drop(key, id)
end

-- The clean-up of a failed attempt takes back that attempt only.
local function undo(key, tag)
    if not begins(lock_at(key), tag .. ':') then
        return 0
    end
    return drop(key, string.match(tag, '^[^.]*'))
end

local function inspect(key)
    local value = lock_at(key)
    if not value then
        return 0
    end
    return {redis.call('PTTL', key), value}
end

local handlers = {
    T = {take, 4}, W = {take_or_wait, 4}, C = {confirm, 3}, E = {extend, 4}, R = {release, 2},
    U = {undo, 1}, I = {inspect, 0},
}

-- Each request succeeds or fails by itself: an error half-way keeps what was written before it, so
-- it must not hide the answers of the others.
local replies = {}
local at = 4
for i = 2, #KEYS do
    local handler = handlers[ARGV[at]]
    local ok, reply = pcall(handler[1], KEYS[i], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3],
                            ARGV[at + 4])
    if not ok then
        reply = redis.error_reply(tostring(reply)) -- Redis' own code first: "READONLY ..."
    end
    replies[i - 1] = reply
    at = at + 1 + handler[2]
end
return replies
