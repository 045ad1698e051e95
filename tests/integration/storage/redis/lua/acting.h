/* All that a script may do on a master, asked of the first member of the fixture's fleet: either
 * all of it acts, or none. */
#ifndef TESTS_INTEGRATION_STORAGE_REDIS_LUA_ACTING_H
#define TESTS_INTEGRATION_STORAGE_REDIS_LUA_ACTING_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

/* One request, as the master's script for requests has it: a letter, and what that takes. */
redisReply *acting_ask(const char *request);

/* Each request, and what others ask of it while they rejoin, hears an error that begins
 * with
 * @sign, or with "PAWLFORGOT ". */
void acting_expect_refusals(const char *sign);

/* The marker is that of the first member, active, and was written before something happened.
 * Nothing acts, and nothing changes the marker. */
void acting_expect_none(void);
void acting_expect_all(void);

/* note_process_counts.lua, once, and as it is sent: twice. The second gives the last answer, which
 * is a number.
 */
redisReply *acting_settle_once(void);
long long acting_settle(void);

/* The marker's note after so many answers of note_process_counts.lua were counted. Static, until
 * the next call. */
const char *acting_answers(unsigned count);

/* Redis writes each key of a rewrite so slowly that it takes a while. */
void acting_slow_down_rewrites(void);
bool acting_is_rewriting(void *unused);

/* No more writes that need memory. */
void acting_use_up_memory(void);

bool acting_same(const redisReply *a, const redisReply *b);

#endif
