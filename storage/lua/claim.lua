-- A server begins to take this master back: it writes its nonce, if the marker is still the one that it
-- judged. Whatever another server is still about to do under an older nonce, it finds that out here.
--
-- KEYS[1]      the fleet hash
-- ARGV[1..6]   the marker as seen: fleet, member, run, state, nonce, view; '' for what is absent
-- ARGV[7]      the new nonce
-- ARGV[8]      'keep': nothing was lost. 'join': it is out until it is admitted, and the rest follows
-- ARGV[9..14]  fleet, member, run, longest lease, durable, view
-- ARGV[15]     the note for whoever comes across the key
-- ARGV[16]     the incarnation that it is to get; '0' if that is not known yet
local fleet = KEYS[1]
local seen = redis.call('HMGET', fleet, 'fleet', 'member', 'run', 'state', 'nonce', 'view')
for i = 1, 6 do
    if (seen[i] or '') ~= ARGV[i] then
        return 0
    end
end

-- If it breaks off, and others know that incarnation by then, it is seen to be this master's own.
redis.call('HDEL', fleet, 'next', 'progress')
if ARGV[16] ~= '0' then
    redis.call('HSET', fleet, 'next', ARGV[16])
end
if ARGV[8] == 'keep' then
    redis.call('HSET', fleet, 'nonce', ARGV[7])
    return 1
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

redis.call('HSET', fleet, 'note', ARGV[15], 'fleet', ARGV[9], 'member', ARGV[10], 'run', ARGV[11],
           'max_ttl_ms', ARGV[12], 'durable', ARGV[13], 'state', 'joining', 'nonce', ARGV[7], 'view',
           higher(ARGV[6], ARGV[14], tonumber(ARGV[10])))
return 1
