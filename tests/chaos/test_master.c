/* The life and the clock of a real master. */
#include "tests/chaos/master_settings.h"
#include "tests/chaos/redis_call.h"
#include "tests/chaos/test_masters.h"
#include "tests/lib/case.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    HOUR_S = 3600,
};

static long long shown_s(void)
{
    redisReply *reply = redis_call(master.port, "TIME");
    assert_non_null(reply);
    const long long seconds = strtoll(reply->element[0]->str, NULL, 10);
    freeReplyObject(reply);
    return seconds;
}

static void its_clock_jumps_and_comes_back(void **state)
{
    const long long before_s = shown_s();
    assert_in_range(before_s - time(NULL) + HOUR_S, HOUR_S - 60, HOUR_S + 60);
    chaos_master_set_clock(&master, (int64_t)-HOUR_S * 1000000, 0);
    assert_in_range(before_s - shown_s(), HOUR_S - 60, HOUR_S);
    chaos_master_set_clock(&master, 0, 0);
    assert_true(shown_s() >= before_s);
}

static void a_key_expires_by_its_clock(void **state)
{
    redis_must(master.port, "SET k v EX 1000");
    masters_expect(&master, "k", "v");
    chaos_master_set_clock(&master, (int64_t)HOUR_S * 1000000, 0);
    masters_expect(&master, "k", NULL);
}

static void its_clock_runs_at_another_rate(void **state)
{
    const long long before_s = shown_s();
    chaos_master_set_clock(&master, 0, 1000000000); /* a thousand seconds in each */
    wait_ms(100);
    assert_true(shown_s() - before_s >= 50);
}

static void killed_it_keeps_what_was_on_its_disk(void **state)
{
    masters_set(&master, "k", "v");
    chaos_master_kill(&master);
    masters_start();
    masters_expect(&master, "k", "v");
}

static bool has_child(void *arg)
{
    return chaos_master_children(&master, arg) == 1;
}

/* A zombie that init has not reaped yet does nothing any more. */
static bool is_gone(void *arg)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)*(pid_t *)arg);
    char *text = text_read(path, 0);
    const bool gone = text[0] == '\0' || strstr(text, ") Z ");
    free(text);
    return gone;
}

static void killed_it_leaves_no_child(void **state)
{
    pid_t child[CHAOS_CHILDREN_MAX];
    masters_set(&master, "k", "v");
    chaos_master_slow_rewrites(&master, 60 * 1000000);
    chaos_master_rewrite(&master);
    masters_wait(has_child, child);
    chaos_master_kill(&master);
    assert_true(wait_until(is_gone, child, 500)); /* without a signal it would sleep for a minute */
}

static const struct CMUnitTest cases[] = {
    MASTERS_CASE(its_clock_jumps_and_comes_back),
    MASTERS_CASE(a_key_expires_by_its_clock),
    MASTERS_CASE(its_clock_runs_at_another_rate),
    MASTERS_CASE(killed_it_keeps_what_was_on_its_disk),
    MASTERS_CASE(killed_it_leaves_no_child),
};

CASE_MAIN(cases, NULL, NULL)
