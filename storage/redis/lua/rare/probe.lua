-- Whether a lock would be taken here.

-- A call without requests asks whether a lock would be taken here. It uses the commands that take and
-- confirm one, so Redis refuses it where it refuses those. It changes nothing that means anything. A
-- full disk shows only once the file grows by a block, so the file grows by half of one. That happens
-- once in PROBE_MS, for any number of calls.
local PROBE_MS, PROBE_BYTES = 400, 2048
local function probe()
    local told, time_ms = pcall(clock_ms) -- not where this user may not ask
    local probed = call('HGET', fleet, 'probed') or '0'
    if not find(probed, '^%d+$') then
        call('HDEL', fleet, 'probed')
        probed = '0'
    end
    local since_ms = told and time_ms - tonumber(probed) or PROBE_MS
    local due = since_ms < 0 or since_ms >= PROBE_MS
    call('HINCRBY', fleet, 'probed', told and due and format('%.0f', since_ms) or '0')
    call('SET', 'pawl:probe', '', 'PX', '1', 'XX') -- which is never there
    if due then
        call('HSET', fleet, 'probe', string.rep('.', PROBE_BYTES))
    end
    return 1
end

functions.probe = probe
