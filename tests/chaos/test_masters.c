#include "tests/chaos/test_masters.h"

#include "tests/chaos/redis_call.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/wait.h"

#include <string.h>

enum {
    TIMEOUT_MS = 20000,
};

char *masters_dir;
struct chaos_master master;
static struct chaos_master other;

int masters_begin(void **state)
{
    masters_dir = tempdir_new();
    chaos_master_init(&master, masters_dir, "redis", REDIS_ALWAYS, CHAOS_CLOCK_SHIM);
    chaos_master_wait_up(&master);
    return 0;
}

int masters_end(void **state)
{
    chaos_master_fini(&master);
    chaos_master_fini(&other);
    tempdir_remove(masters_dir);
    process_kill_all();
    return 0;
}

struct chaos_master *masters_add(void)
{
    chaos_master_init(&other, masters_dir, "other", REDIS_VOLATILE, CHAOS_CLOCK_SHIM);
    chaos_master_wait_up(&other);
    return &other;
}

void masters_set(const struct chaos_master *of, const char *key, const char *value)
{
    redis_must(of->port, "SET %s %s", key, value);
}

void masters_expect(const struct chaos_master *of, const char *key, const char *value)
{
    redisReply *reply = redis_call(of->port, "GET %s", key);
    assert_non_null(reply);
    if (value)
        assert_string_equal(reply->str, value);
    else
        assert_int_equal(reply->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
}

void masters_start(void)
{
    chaos_master_start(&master, CHAOS_CLOCK_SHIM);
    chaos_master_wait_up(&master);
}

void masters_wait(bool (*ready)(void *arg), void *arg)
{
    assert_true(wait_until(ready, arg, TIMEOUT_MS));
}
