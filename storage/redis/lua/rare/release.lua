-- Releases that find another lock, and the clean-ups of attempts that failed.

-- The answer of a release about a lock that this id does not have. A tombstone may stand for its
-- lock.
local function not_released(value)
    if is_tombstone(value) then
        return UNCOUNTED
    end
    parse(value)
    return 0
end

-- Tells waiters that the last holder no longer has the lock; they look how long it stays.
local function publish_freed(key, id)
    local resource = string.sub(key, #LOCK + 1)
    if call('EXISTS', WAITING) == 1 and call('DEL', WAIT .. resource) == 1 then
        redis.pcall('PUBLISH', 'pawl:freed', id .. ':' .. resource) -- may fail: the lock is released
    end
end

-- A writer's locks are never released alone.
local covering = false
local function release_of_writer(key, id, value)
    if not covering then
        error(WRITERS, 0)
    end
    drop(key, id)
    return find(value, '^[^:*]+:%d+:0::', #id + 2) and 1 or 2
end

local function covered(handler)
    return function(...)
        covering = true
        local ok, reply = pcall(handler, ...)
        covering = false
        if not ok then
            error(reply, 0)
        end
        return reply
    end
end

-- Releases a lock, and keeps it closed for a while, under a lock id that no client has: at most for
-- the rest of its lease. The counter rises above its number, so that no extension of the grant
-- joins.
local KEPT = 'kept-by-the-last-holder'
local function keep_closed(key, id, slot, keep_ms)
    local value = lock_at(key)
    if not value then
        return 0
    elseif not begins(value, id, ID) then
        return not_released(value)
    elseif find(value, WRITER, 1, true) and not covering then
        error(WRITERS, 0)
    end
    local _, number, extensions, from, owner = parse(value)
    local left = math.min(own_left_ms(key), tonumber(keep_ms))
    raise_above(slot, number)
    put(key, compose(KEPT .. '.*', number, extensions, '', owner), left)
    publish_freed(key, id)
    return from == '' and find(value, '^[^:*]+:%d+:0::', #id + 2) and 1 or 2
end

-- The clean-up of a failed attempt undoes only that attempt. If another program wrote the key, the
-- attempt left nothing there.
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

functions.not_released, functions.release_of_writer = not_released, release_of_writer
handlers.U, handlers.L = undo, keep_closed
handlers.S, handlers.M = covered(release), covered(keep_closed)
groups.V = {handler = undo_group, arguments = 2, arguments_of_each = 0}
