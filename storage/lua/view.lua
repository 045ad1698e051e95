-- What every script begins with that acts for a fleet: it names the view it works under, and a master
-- that knows a higher incarnation of any member, or is another one itself, refuses. That is what keeps
-- apart what was asked before a member was replaced from what is counted after.
--
-- KEYS[1]  the fleet hash: marker and counters, which live or die together

local fleet = KEYS[1]

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

-- The error to answer with, or nothing if the sender may go on. A connection outlives what its master
-- was: it may have been wiped, or been a replica of another member for a while.
--
-- marker   state, view, fleet, member
local function refusal(marker, view, fleet_id, me)
    if marker[1] ~= 'active' or marker[3] ~= fleet_id or marker[4] ~= me then
        return redis.error_reply('PAWLGONE Its marker is gone, or was changed: state ' ..
                                 tostring(marker[1]) .. ', member ' .. tostring(marker[4]))
    end
    if marker[2] == view then
        return nil
    end
    if not stands(marker[2], view, tonumber(me)) then
        return redis.error_reply('PAWLVIEW ' .. marker[2])
    end
    redis.call('HSET', fleet, 'view', view) -- the sender knows more
    return nil
end

