-- What this master's data descend from. The marker says what it was when the master was admitted. It
-- changes when the master becomes a replica, is promoted, restarts, or evicts a key. Its locks and
-- counters may then be those of another time. So every script that acts for a fleet compares it, in the
-- same atomic step as its acts. A first replica changes the replication id too, and loses nothing.
--
-- KEYS[1]  the fleet hash: marker and counters, which live or die together

local fleet = KEYS[1]

-- "<calls of CONFIG SET>:<the last CONFIG RESETSTAT>:<calls that change its role>". Few calls of
-- RESETSTAT take the same time.
local function config_calls()
    local stats = redis.call('INFO', 'commandstats')
    local roles = 0
    for _, command in ipairs({'replicaof', 'slaveof', 'failover'}) do
        roles = roles + tonumber(string.match(stats, 'cmdstat_' .. command .. ':calls=(%d+)') or 0)
    end
    return (string.match(stats, 'cmdstat_config|set:calls=(%d+)') or '0') .. ':' ..
           (string.match(stats, 'cmdstat_config|resetstat:(calls=%d+,usec=%d+)') or '') .. ':' .. roles
end

local function is_rewriting(persistence)
    return not (string.find(persistence, 'aof_rewrite_in_progress:0', 1, true) and
                string.find(persistence, 'aof_rewrite_scheduled:0', 1, true))
end

-- Returns the value of a field of INFO. A plain search for its name costs a tenth of a pattern from
-- the start.
local function field_in(info, name)
    local _, last = string.find(info, name, 1, true)
    return string.match(info, '^%x+', last + 1)
end

-- "<replication id>:<keys evicted so far>", of INFO's sections for these.
local function lineage_in(info)
    return field_in(info, '\nmaster_replid:') .. ':' .. field_in(info, '\nevicted_keys:')
end

local function bytes_in(info)
    return tonumber(field_in(info, '\ntotal_net_input_bytes:'))
end

local function bytes_now()
    return bytes_in(redis.call('INFO', 'stats'))
end

-- How often note_process_counts.lua has answered with PAWLSTATS. Redis counts its errors by their first word, and forgets
-- that at CONFIG RESETSTAT. Nothing where it never answered so since, or where Redis does not count it.
local function answers_in(info)
    local _, last = string.find(info, '\nerrorstat_PAWLSTATS:count=', 1, true)
    return last and string.match(info, '^%d+', last + 1)
end

-- Returns whether more kinds of errors occurred than Redis counts. Some servers then count none. A
-- reset ends that.
local function has_too_many_errors(info)
    return string.find(info, '\nerrorstat_ERRORSTATS_', 1, true)
end

-- For the marker: "<these answers>@<lineage>"; '' if there are none. If none can be counted any
-- more, 1 is noted: after a reset there are fewer. An older pawld writes a lineage alone, so the
-- lineage tells whose answers these are.
local function answers_now(lineage)
    local info = redis.call('INFO', 'errorstats')
    local answers = answers_in(info) or (has_too_many_errors(info) and '1')
    return answers and answers .. '@' .. lineage or ''
end

local function lineage_now()
    return lineage_in(redis.call('INFO', 'replication', 'stats'))
end

-- For the marker: config_calls(), if the append-only file is known to be complete. A '-' is never
-- equal.
local function sets_now()
    local calls = config_calls()
    if string.find(calls, '^0::') or not is_rewriting(redis.call('INFO', 'persistence')) then
        return calls
    end
    return '-' .. string.match(calls, ':.*$')
end

-- Whether CONFIG RESETSTAT was called since the marker was written: evictions are counted from 0 again.
--
-- answers  answers_now() then. Where some were noted and are counted, they tell for sure
-- bytes    how many it had received then. Elsewhere, only these tell: until as many came anew
local function was_reset(info, lineage, bytes, answers)
    local now = answers_in(info)
    if now and now .. '@' .. lineage == answers then
        return false
    end
    local noted = string.match(answers or '', '^(%d+)@')
    if noted and noted .. '@' .. lineage == answers and not has_too_many_errors(info) then
        return tonumber(now or 0) < tonumber(noted)
    end
    return bytes_in(info) < (tonumber(bytes or 0) or math.huge)
end

-- Whether the replication id changed since the marker was written, and nothing else. Redis takes another id when
-- a first replica attaches, and when it frees its backlog. It does so as well when it is promoted: then
-- second_repl_offset shows that until the backlog is freed, and a call that Redis counts came before, in the same
-- process. So the counts tell, where the answers of note_process_counts.lua show for sure that no reset hid one.
local function has_only_another_id(info, now, lineage, sets, answers)
    local counted = answers_in(info)
    return lineage and string.match(now, ':.*$') == string.match(lineage, ':.*$') and
           string.find(info, '\nsecond_repl_offset:-1', 1, true) and
           counted and counted .. '@' .. lineage == answers and
           field_in(redis.call('INFO', 'server'), '\nrun_id:') == redis.call('HGET', fleet, 'run') and
           string.match(config_calls(), ':.*$') == string.match(sets or '', ':.*$')
end

local function forgot(text)
    return redis.error_reply('PAWLFORGOT ' .. text)
end

-- The error to answer with where this master may not act any more, or nothing.
--
-- lineage, durable   what the marker says
-- sets               config_calls() when the append-only file was last known to be complete. After it was
--                    switched off and on again, Redis writes to a file that a crash forgets, until a
--                    rewrite ends
-- bytes, answers     see was_reset()
local function strayed(lineage, durable, sets, bytes, answers)
    local info = durable == 'yes' and
                 redis.call('INFO', 'replication', 'stats', 'errorstats', 'persistence') or
                 redis.call('INFO', 'replication', 'stats', 'errorstats')
    local now = lineage_in(info)
    if not string.find(info, '\nrole:master', 1, true) then
        return forgot('It is a replica.')
    elseif now ~= lineage and not has_only_another_id(info, now, lineage, sets, answers) then
        return forgot('It was a replica, restarted, or evicted keys: ' .. now .. ' is not ' ..
                      tostring(lineage))
    elseif was_reset(info, lineage, bytes, answers) then
        return forgot('Its statistics were reset, so evictions may be hidden.')
    elseif durable ~= 'yes' then
        return nil
    elseif not string.find(info, 'aof_enabled:1', 1, true) then
        return forgot('Its marker says durable, and appendonly is off.')
    elseif is_rewriting(info) and config_calls() ~= sets then
        return forgot('Its append-only file is rewritten after CONFIG SET, and may not be complete yet.')
    end
    return nil
end

-- The module keeps leases on the monotonic clock of its server (storage/redis/module/README.md). A lock is
-- "=<lease>=<lock>" there, in milliseconds, and its key has no expiry. The marker of such a master has "leases".
--
-- What PAWL.LEFT answers of a key, or nothing where no module is loaded. Another error ends the script: a user
-- who may not ask the module must not write a lock.
local function ask_module(key)
    local left = redis.pcall('PAWL.LEFT', key)
    if type(left) == 'number' then
        return left
    elseif not string.find(left.err, '[Uu]nknown %a* ?command called from') then
        error(left.err, 0)
    end
    return nil
end

-- Returns whether the module keeps the leases of this master now. If the module was unloaded, or
-- the server started without it, Redis' expiry ends its locks again. A lock gets its expiry when it
-- is looked at, or by sweep.lua, for its whole lease.
local kept -- nil: not yet asked
local function keeps_leases()
    if kept == nil then
        local marker = redis.call('HMGET', fleet, 'leases', 'state')
        kept = marker[1] and ask_module(fleet) ~= nil
        if marker[1] and not kept and marker[2] == 'active' then
            redis.pcall('HDEL', fleet, 'leases')
            redis.pcall('HSET', fleet, 'unswept', '0')
        end
    end
    return kept
end

-- Returns the lock in a value that names its lease, and the lease; nothing if it names none. If the
-- lock was imported just now, the value is "=<lease>@<from>@<lock>" (install.lua).
local function unlease(value)
    local lease_ms, mark, lock = string.match(value, '^=0*(%d+)([=@])(.*)$')
    if mark == '@' then
        local from, head, tail = string.match(lock, '^0*(%d+)@([^:]+:%d+:%d+:)(:.*)$')
        lock = head and head .. from .. tail
    end
    return lock, lock and lease_ms
end

-- Returns the rest of that lease.
local function lease_left(key, lease_ms)
    return keeps_leases() and redis.call('PAWL.LEFT', key) or tonumber(lease_ms)
end

-- Begins the leases of these locks now, if the module keeps them and the values name them.
local function begin_leases(keys)
    if keeps_leases() then
        redis.call('PAWL.LEFT', unpack(keys))
    end
end
