-- One call carries every request of a loop turn for this master. Follows lineage_check.lua, view.lua,
-- locks.lua and the files of rare/.
--
-- KEYS[1]    the fleet hash
-- KEYS[2..]  for each request the locks that it is about: one, or as many as it says
-- ARGV[1]    the view that the sender works under
-- ARGV[2,3]  the fleet, and which member of it this master is taken for
-- ARGV[4..]  for each request its letter, and what that letter takes
-- Answers    the reply to each request, and then the position of this master

local COUNT = #KEYS
if COUNT == 1 then
    return gone(marker, ARGV[2], ARGV[3]) or rare().probe()
end

local refused = refusal(marker, ARGV[1], ARGV[2], ARGV[3])
if refused then
    return refused
end

local usual = {T = take_plain, N = take_hinted, R = release}

-- How many arguments follow a letter. A group has as many locks as its first argument says (rare/).
local ARGUMENTS = {T = 4, N = 5, F = 6, W = 7, C = 4, E = 5, A = 2, J = 7, R = 1, S = 1, L = 3, M = 3, U = 1, I = 0, K = 3, B = 5}

-- The requests whose writes a server may count on. A release that is lost does no harm: the lock
-- comes back until its lease ends. A read writes nothing.
local COUNTED = {F = true, W = true, C = true, E = true, A = true, J = true, B = true, G = true, H = true}
local function has_written(letter, reply, at)
    if letter == 'T' or letter == 'N' then
        return type(reply) == 'number'
    elseif letter == 'K' then
        return ARGV[at + 1] ~= '0' or ARGV[at + 2] ~= '0'
    end
    return COUNTED[letter]
end

-- Each request succeeds or fails alone. An error half-way keeps earlier writes, so it must not hide
-- the answers to the other requests.
local replies, replied, wrote = {}, 0, false
local i, at = 2, 4
while i <= COUNT do
    local letter = ARGV[at]
    local locks, arguments, ok, reply = 1, ARGUMENTS[letter], nil, nil
    index = 0
    if arguments then
        local handler = usual[letter]
        if not handler then
            handler = rare().handlers[letter]
            usual[letter] = handler
        end
        if arguments <= 2 then
            ok, reply = pcall(handler, KEYS[i], ARGV[at + 1], ARGV[at + 2])
        else
            ok, reply = pcall(handler, KEYS[i], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4],
                              ARGV[at + 5], ARGV[at + 6], ARGV[at + 7])
        end
    else
        local group = rare().groups[letter]
        locks = tonumber(ARGV[at + 1])
        arguments = group.arguments + group.arguments_of_each * locks
        ok, reply = pcall(group.handler, i, at)
    end
    wrote = wrote or has_written(letter, reply, at)
    if not ok then
        reply = rare().error_of(reply)
    end
    replied = replied + 1
    replies[replied] = reply
    i = i + locks
    at = at + 1 + arguments
end
replies[replied + 1] = wrote and count_write() or tonumber(marker[11] or '0') or 0
return replies
