-- Named counters.

-- Adds a field to the fleet hash, which may hold so many counters.
local function make_room(names_max)
    if tonumber(call('HGET', fleet, 'names') or '0') >= tonumber(names_max) then
        error(FULL, 0)
    end
end

-- Raises the counter to the hint, and by count. A hint shows that another master has the counter:
-- then a read creates it here, too, and the bound on names does not apply. The values between the
-- earlier number and this number belong to this call alone.
local function count_named(key, count, hint, names_max)
    local field = 'n:' .. string.sub(key, #LOCK + 1)
    local counter = call('HGET', fleet, field)
    count, hint = tonumber(count), tonumber(hint)
    if not counter and count == 0 and hint == 0 then
        return tonumber(floor or '0') -- it may have counted before the floor was set
    elseif counter and not find(counter, '^%d+$') then
        error(MISCOUNTED, 0)
    elseif not counter and hint == 0 then
        make_room(names_max)
    end
    local number = math.max(tonumber(counter or '0'), tonumber(floor or '0'), hint) + count
    if number > TOKEN_MAX then
        error(SPENT, 0)
    elseif not counter then
        call('HINCRBY', fleet, 'names', '1')
    end
    number = format('%.0f', number)
    if number ~= counter then
        call('HSET', fleet, field, number)
    end
    return tonumber(number)
end

handlers.K = count_named
