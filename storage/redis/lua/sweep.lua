-- Gives imported locks their expiry (install.lua), and removes those whose time is over. It does so for
-- some keys of this master, from the cursor on that its marker notes. Only memory depends on when this
-- is done. A cursor means nothing to another process. Follows lineage.lua.
--
-- ARGV     how many keys at a time
-- Answers  1: there are more; 0: all are done, or nobody was admitted
local call = redis.call
local marker = call('HMGET', fleet, 'state', 'unswept', 'lineage')
if marker[1] ~= 'active' or not marker[2] or marker[3] ~= lineage_now() then
    return 0
end
local time = call('TIME')
local NOW_MS = time[1] * 1000 + math.floor(time[2] / 1000)
local cursor = string.find(marker[2], '^%d+$') and marker[2] or '0'
local found = call('SCAN', cursor, 'MATCH', 'pawl:lock:*', 'COUNT', ARGV[1])
local values = #found[2] > 0 and call('MGET', unpack(found[2])) or {}
for i, key in ipairs(found[2]) do
    local expiry_ms, from, head, tail =
        string.match(values[i] or '', '^@(%d+)@0*(%d+)@([^:]+:%d+:%d+:)(:.*)$')
    if head and tonumber(expiry_ms) <= NOW_MS then
        call('DEL', key)
    elseif head then
        call('SET', key, head .. from .. tail, 'PXAT', expiry_ms)
    end
end
if found[1] == '0' then
    call('HDEL', fleet, 'unswept')
    return 0
end
call('HSET', fleet, 'unswept', found[1])
return 1
