-- Releases that find another lock, and the clean-ups of attempts that failed.

-- What a release answers of a lock that is not this id's. A tombstone may stand for its lock.
local function not_released(value)
    if is_tombstone(value) then
        return UNCOUNTED
    end
    parse(value)
    return 0
end

-- Whoever waits is told that the lock is not its last holder's any more, and looks how long it stays.
local function publish_freed(key, id)
    local resource = string.sub(key, #LOCK + 1)
    if call('EXISTS', WAITING) == 1 and call('DEL', WAIT .. resource) == 1 then
        redis.pcall('PUBLISH', 'pawl:freed', id .. ':' .. resource) -- may fail: the lock is released
    end
end

-- Of a writer's locks none is released alone.
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

-- Releases a lock, and keeps it closed for a while, under the lock id of nobody. That is no longer than the
-- lock has left. The counter comes above its number, so that no extension of the grant joins.
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

functions.not_released, functions.release_of_writer = not_released, release_of_writer
handlers.U, handlers.L = undo, keep_closed
handlers.S, handlers.M = covered(release), covered(keep_closed)
groups.V = {handler = undo_group, arguments = 2, arguments_of_each = 0}
