-- A server begins to take this master back, if the marker is still the one that was judged. The marker
-- then says "joining", and which incarnation the master is to get. Another server may still act under
-- an older incarnation. It finds that out here. Follows lineage_check.lua.
--
-- The arguments are enum mark_argument of storage/redis/rejoin.c, in its order.
local SEEN = 7 -- the first ones: fields of the marker as it was judged; '' for what is absent
local FIELD_BYTES = 48

local fleet_id, member, run, max_ttl_ms, durable, view = unpack(ARGV, SEEN + 1, SEEN + 6)
local incarnation = ARGV[14] -- that it is to get
local init = ARGV[15] -- 'new' or 'floor', where pawld init marks; '' else
local note = ARGV[16] -- for people who find the key
local keeps, kept_lineage = ARGV[17], ARGV[18] -- 'yes' where it seems to have kept all it knew, while its
                                               -- lineage is this one; 'no' else
local max_extensions = ARGV[19] -- of one grant; '0' where the fleet names none

-- The field of the marker that could not be read, or ''; and its length and first bytes. Such a marker is
-- compared by this field alone: each mark writes the field again.
local malformed, malformed_bytes = ARGV[20], ARGV[21]
local readers = ARGV[22] or '0' -- seats of readers for each name; '0' where the fleet names none
local predecessors = ARGV[23] -- fleets that were moved away, and that this one follows; '' where there is none

local function is_as_seen(field, seen)
    local value = redis.call('HGET', fleet, field) or ''
    return #value .. ':' .. string.sub(value, 1, FIELD_BYTES) == seen
end

local known = ARGV[SEEN] -- the view
local seen = redis.call('HMGET', fleet, 'fleet', 'member', 'run', 'lineage', 'state', 'next', 'view')
if malformed ~= '' then
    if not is_as_seen(malformed, malformed_bytes) then
        return 0
    end
    known = malformed ~= 'view' and seen[SEEN] or ''
else
    for i = 1, SEEN do
        if (seen[i] or '') ~= ARGV[i] then
            return 0
        end
    end
end

-- What it recorded of others is not forgotten, and its own incarnation stays what it was.
local function higher(known, named, me)
    local list, others = {}, {}
    for number in string.gmatch(known, '%d+') do
        others[#others + 1] = number
    end
    for number in string.gmatch(named, '%d+') do
        local i = #list + 1
        local own = others[i] or number
        list[i] = (i == me or tonumber(own) > tonumber(number)) and own or number
    end
    return table.concat(list, ',')
end

-- The floor and the bound on names are no part of what was compared. A floor comes back with the import:
-- all others have it.
local function mend_counters()
    local had = redis.call('HMGET', fleet, 'floor', 'names')
    if had[1] and not string.find(had[1], '^%d+$') then
        redis.call('HDEL', fleet, 'floor')
    end
    if had[2] and string.find(had[2], '^%d+$') then
        return
    end
    local cursor, names = '0', 0
    repeat
        local found = redis.call('HSCAN', fleet, cursor, 'MATCH', 'n:*', 'COUNT', 1000)
        cursor, names = found[1], names + #found[2] / 2
    until cursor == '0'
    redis.call('HDEL', fleet, 'names')
    if names > 0 then
        redis.call('HSET', fleet, 'names', string.format('%d', names))
    end
end

mend_counters()
local lineage = lineage_now()
local intact = keeps == 'yes' and kept_lineage == lineage and 'yes' or 'no'
redis.call('HDEL', fleet, 'init', 'doubt', 'nonce') -- an older pawld wrote a nonce
redis.call('HSET', fleet, 'note', note, 'fleet', fleet_id, 'member', member, 'run', run,
           'lineage', lineage, 'sets', sets_now(), 'bytes', bytes_now(), 'answers',
           answers_now(lineage), 'max_ttl_ms', max_ttl_ms, 'durable', durable, 'state', 'joining',
           'next', incarnation, 'intact', intact, 'progress', '0', 'view',
           higher(known, view, tonumber(member)))
local may_ask, module = pcall(ask_module, fleet)
if may_ask and module then
    redis.call('HSET', fleet, 'leases', 'monotonic')
else
    redis.call('HDEL', fleet, 'leases')
end
if max_extensions ~= '0' then
    redis.call('HSET', fleet, 'max_extensions', max_extensions)
else
    redis.call('HDEL', fleet, 'max_extensions')
end
if readers ~= '0' then
    redis.call('HSET', fleet, 'readers', readers)
else
    redis.call('HDEL', fleet, 'readers')
end
if predecessors ~= '' then
    redis.call('HSET', fleet, 'predecessors', predecessors)
else
    redis.call('HDEL', fleet, 'predecessors')
end
if init ~= '' then
    redis.call('HSET', fleet, 'init', init)
else
    redis.call('HDEL', fleet, 'closed') -- a majority of the fleet that follows votes: the move is done
end
return 1
