-- The beginning of every script that acts for a fleet. The script names the view under which it
-- works. A master refuses the script if it knows a higher incarnation of any member, or is another
-- master itself. This separates requests from before the replacement of a member from counts after
-- it. Follows lineage_check.lua.

-- The fields of the marker that the functions below are given.
local MARKER_FIELDS = {'state', 'view', 'fleet', 'member', 'lineage', 'durable', 'sets', 'bytes',
                       'floor', 'answers', 'writes', 'leases'}

-- Counts one more write, and returns the new position of this master. A server that saw a later
-- position than a master has after a restart knows that writes were lost. If somebody wrote the
-- field by hand, the count begins again, and servers treat this master as one that lost writes.
-- HDEL: see refusal().
local function count_write()
    local counted = redis.pcall('HINCRBY', fleet, 'writes', '1')
    if type(counted) ~= 'number' then
        redis.call('HDEL', fleet, '')
        counted = redis.pcall('HINCRBY', fleet, 'writes', '1')
    end
    if type(counted) ~= 'number' then
        redis.call('HSET', fleet, 'writes', '1')
        return 1
    end
    return counted
end

local function incarnations(view)
    local list = {}
    for number in string.gmatch(view, '%d+') do
        list[#list + 1] = tonumber(number)
    end
    return list
end

local function stands(known, named, me)
    known, named = incarnations(known), incarnations(named)
    for i = 1, #known do
        if not named[i] or known[i] > named[i] or (i == me and known[i] ~= named[i]) then
            return false
        end
    end
    return true
end

-- A fleet never changes its number of members.
local function has_as_many(known, named)
    return #incarnations(known) == #incarnations(named)
end

-- Returns the error to answer if this master is not that member, or may have lost data. The state
-- of a master can change during a connection: it may have been wiped, or been a replica for a
-- while.
local function gone(marker, fleet_id, me)
    local durable, floor = marker[6], marker[9]
    if not marker[2] or (durable ~= 'yes' and durable ~= 'no') or
       (floor and not string.find(floor, '^%d+$')) then
        return redis.error_reply('PAWLGONE Its marker was changed by hand, and cannot be read')
    end
    if marker[1] ~= 'active' or marker[3] ~= fleet_id or marker[4] ~= me then
        return redis.error_reply('PAWLGONE Its marker is gone, or was changed: state ' ..
                                 tostring(marker[1]) .. ', member ' .. tostring(marker[4]))
    end
    return strayed(marker[5], marker[6], marker[7], marker[8], marker[10])
end

-- Returns the error to answer, or nothing if the sender may continue.
local function refusal(marker, view, fleet_id, me)
    local refused = gone(marker, fleet_id, me)
    if refused or marker[2] == view then
        return refused
    end
    if not has_as_many(marker[2], view) then
        return redis.error_reply('PAWLGONE The view of its marker was changed by hand')
    elseif not stands(marker[2], view, tonumber(me)) then
        return redis.error_reply('PAWLVIEW ' .. marker[2])
    end
    -- The sender's view is newer. A master whose memory is used up refuses the first write of a
    -- script, if that may need more. HDEL needs none, and a view is about as long as the last one.
    redis.call('HDEL', fleet, '')
    redis.call('HSET', fleet, 'view', view)
    return nil
end

