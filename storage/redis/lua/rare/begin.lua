-- Begins the one function that defines rarely used functions. The other files of this folder are
-- its body, which is not indented: storage/redis/requests_script.c joins them. Follows locks.lua.
--
-- Each file adds its public functions to this table. A handler takes the arguments behind its
-- letter (requests.lua). A group also takes the place of its first key, and of its letter; it has
-- so many arguments, and so many for each lock.

function define_rare()

local functions = {handlers = {}, groups = {}}
local handlers, groups = functions.handlers, functions.groups

local now_ms
local function clock_ms()
    if not now_ms then
        local time = call('TIME')
        now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    return now_ms
end

local function sign_of(problem)
    local text = tostring(problem)
    local signs = {
        {'WRONGTYPE', FOREIGN}, {'ERR hash value is not an integer', MISCOUNTED},
        {'ERR increment or decrement would overflow', SPENT},
        {FOREIGN, FOREIGN}, {ENDLESS, ENDLESS}, {SPENT, SPENT}, {MISCOUNTED, MISCOUNTED},
        {FULL, FULL}, {WRITERS, WRITERS},
    }
    for _, sign in ipairs(signs) do
        if find(text, sign[1], 1, true) == 1 then
            return sign[2]
        end
    end
    return nil
end

-- Returns the answer to a request that failed with @problem.
local function error_of(problem)
    local sign = sign_of(problem)
    return redis.error_reply(sign and sign .. ' ' .. index or tostring(problem))
end

functions.error_of = error_of
