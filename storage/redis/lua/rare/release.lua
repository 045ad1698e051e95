-- Releases that find another lock, and the clean-ups of attempts that failed.

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

functions.not_released = not_released
handlers.U = undo
groups.V = {handler = undo_group, arguments = 2, arguments_of_each = 0}
