/* The scripts that take a master back, each run by itself on a real Redis. One server plays one
 * member of a fleet of three; by default the second. */
#ifndef TESTS_INTEGRATION_STORAGE_REDIS_LUA_SCRIPT_FIXTURE_H
#define TESTS_INTEGRATION_STORAGE_REDIS_LUA_SCRIPT_FIXTURE_H

#include "fence/fleet/fleet.h"
#include "storage/redis/rejoin.h"
#include "tests/lib/case.h"
#include "tests/lib/redis_fleet.h"

#include <hiredis/hiredis.h>

#define SCRIPT_FLEET "f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7"
#define SCRIPT_RUN   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

enum {
    SCRIPT_MASTERS = 3,
    SCRIPT_ME = 1,    /* from 0: the member that rejoins */
    SCRIPT_NEXT = 25, /* the incarnation that it is to get; it had 20 */
    SCRIPT_TTL_MAX_MS = 300000,
};

extern struct redis_fleet *script_fleet;

/* The setup and the teardown of a case. The first server keeps nothing on disk, the second all. */
#define SCRIPT_CASE(name) cmocka_unit_test_setup_teardown(name, script_start, script_stop)
#define SCRIPT_DURABLE(name)                                                                       \
    cmocka_unit_test_setup_teardown(name, script_start_durable, script_stop)

int script_start(void **state);
int script_start_durable(void **state);
int script_stop(void **state);

/* Runs a command that does not fail, and drops its reply. */
void script_redis(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The reply to a command; the caller frees it. Errors are replies too. @format is hiredis'. */
redisReply *script_reply(const char *format, ...);

/* The same for EVAL of the @n parts of a script, and its arguments with a space between. */
redisReply *script_eval(const char *const scripts[], size_t n, const char *arguments);

/* The same for the script that carries requests. */
redisReply *script_eval_requests(const char *arguments);

/* Writes the marker of @member ("1" .. "3"), active, under the lineage that stands, in a fleet that
 * knows the incarnations 10, 20 and 30. */
void script_mark_active(const char *member, const char *durable);

/* The same for the second member, joining: it is to get SCRIPT_NEXT. */
void script_mark_joining(const char *durable);

/* The lineage of the server as a script sees it; static, until the next call. */
const char *script_lineage(void);

/* NULL: the field is not there. */
void script_assert_field(const char *field, const char *expected);

/* @reply, which is freed, is an error that begins with @sign. */
void script_assert_error(redisReply *reply, const char *sign);

/* How many steps of clearing and merging the marker counts. */
uint32_t script_progress(void);

/* The findings of a probe of the second member, where script_mark_active() wrote its marker just
 * now. */
struct fence_facts script_facts(void);

/* Does @request, with what it lacks, to member @to (from 0). Pages point into memory that lives
 * until the next call. */
struct fence_rejoin_reply script_step(struct fence_rejoin_request request, unsigned to);

/* The error that the last step was answered with; "" if it was none. */
const char *script_error(void);

/* @key holds a lock that install.lua or clear.lua wrote: "@<expiry>@" and then @expected, which is
 * "<from, 3 digits>@<lock>". */
void script_assert_imported(const char *key, const char *expected);

/* When the lease of such a lock ends, and in how many milliseconds. */
long long script_imported_expiry_ms(const char *key);
long long script_imported_left_ms(const char *key);

/* The wall clock of the server, in milliseconds. */
long long script_now_ms(void);

/* As many locks as that, "lock id".1:<number>:0::, each with a lease of a minute. */
void script_add_locks(unsigned n);

#endif
