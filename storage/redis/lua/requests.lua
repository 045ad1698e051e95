-- One call carries every request of a loop turn for this master. Follows lineage.lua, view.lua,
-- locks.lua and seldom.lua.
--
-- KEYS[1]    the fleet hash
-- KEYS[2..]  for each request the locks that it is about: one, or as many as it says
-- ARGV[1]    the view that the sender works under
-- ARGV[2,3]  the fleet, and which member of it this master is taken for
-- ARGV[4..]  for each request its letter, and what that letter takes

local COUNT = #KEYS
if COUNT == 1 then
    return gone(marker, ARGV[2], ARGV[3]) or seldom().probe()
end

local refused = refusal(marker, ARGV[1], ARGV[2], ARGV[3])
if refused then
    return refused
end

local usual = {T = take_plain, N = take_hinted, R = release}

-- How many arguments follow a letter. A group has as many locks as its first argument says (seldom.lua).
local ARGUMENTS = {T = 4, N = 5, F = 6, C = 4, E = 5, J = 7, R = 1, U = 1, I = 0, K = 3, B = 5}

-- Each request succeeds or fails by itself. An error half-way keeps what was written before it, so it
-- must not hide the answers of the others.
local replies, replied = {}, 0
local i, at = 2, 4
while i <= COUNT do
    local letter = ARGV[at]
    local locks, arguments, ok, reply = 1, ARGUMENTS[letter], nil, nil
    index = 0
    if arguments then
        local handler = usual[letter] or seldom().handlers[letter]
        ok, reply = pcall(handler, KEYS[i], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4],
                          ARGV[at + 5], ARGV[at + 6], ARGV[at + 7])
    else
        local group = seldom().groups[letter]
        locks = tonumber(ARGV[at + 1])
        arguments = group.arguments + group.arguments_of_each * locks
        ok, reply = pcall(group.handler, i, at)
    end
    if not ok then
        reply = seldom().error_of(reply)
    end
    replied = replied + 1
    replies[replied] = reply
    i = i + locks
    at = at + 1 + arguments
end
return replies
