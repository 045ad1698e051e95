-- Brings up to date what the marker notes of the process. That is how many bytes it has received, its
-- lineage where only the replication id changed, and, of an active master whose append-only file is known to
-- be complete now, config_calls(). Where Redis counts no answer of this script yet, it answers with an error.
-- Redis counts that error, and the next call notes the count. Follows lineage_check.lua.
--
-- ARGV     fleet id, member
-- Answers  1; 0 where this master is another one, or has strayed; an error, PAWLSTATS, where no such answer
--          was counted
local marker = redis.call('HMGET', fleet, 'fleet', 'member', 'lineage', 'durable', 'sets', 'bytes',
                          'answers', 'state')
if marker[1] ~= ARGV[1] or marker[2] ~= ARGV[2] or
   strayed(marker[3], marker[4], marker[5], marker[6], marker[7]) then
    return 0
end
local lineage = lineage_now()
local answers = answers_now(lineage)
redis.call('HDEL', fleet, '') -- as view.lua says: without it a master that is full refuses what follows
redis.call('HSET', fleet, 'lineage', lineage, 'bytes', bytes_now(), 'answers', answers)
if marker[8] == 'active' and not is_rewriting(redis.call('INFO', 'persistence')) then
    redis.call('HSET', fleet, 'sets', config_calls())
end
return answers ~= '' and 1 or redis.error_reply('PAWLSTATS A count of this error shows that no statistics ' ..
                                                'were reset')
