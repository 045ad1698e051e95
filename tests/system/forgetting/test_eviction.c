/* A memory limit and a policy that may evict keys with a TTL: the locks go, the marker stays. */
#include "tests/lib/case.h"
#include "tests/system/forgetting/evict.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/masters.h"

#include <string.h>

enum {
    MASTERS = 3,
};

static void master_that_evicted_locks_does_not_vote_while_the_policy_stands(void **state)
{
    struct forgetting forgetting = forgetting_begin();
    evict_locks();
    evict_from(EVICT_ROOM, "volatile-ttl");
    forgetting_contend(&forgetting);
    forgetting_work(&forgetting);
    forgetting_contend(&forgetting);
    masters_wait_out(forgetting.port, 0, "evicts", MASTERS_WAIT_LONG_MS);
    evict_no_more();
    forgetting_judge(&forgetting);
}

/* With the second master down no majority of others can be asked. */
static void master_that_evicted_locks_is_not_trusted_alone(void **state)
{
    struct forgetting forgetting = forgetting_begin();
    redis_fleet_kill(fleet, 1);
    evict_locks();
    forgetting_judge_all(&forgetting, true);
}

static void master_that_may_evict_does_not_vote_until_it_may_not(void **state)
{
    struct forgetting forgetting = forgetting_begin();
    evict_from(EVICT_ROOM, "volatile-lru"); /* nothing was evicted yet */
    forgetting_work(&forgetting);
    masters_wait_out(forgetting.port, 0, "evicts", MASTERS_WAIT_LONG_MS);
    char detail[1024];
    masters_detail(forgetting.port, 0, detail, sizeof(detail));
    assert_non_null(strstr(detail, "noeviction"));
    evict_no_more();
    forgetting_judge(&forgetting);
}

#define EVICTION_CASE(name) FLEET_CASE(name, MASTERS, REDIS_ALWAYS)

static const struct CMUnitTest cases[] = {
    EVICTION_CASE(master_that_evicted_locks_does_not_vote_while_the_policy_stands),
    EVICTION_CASE(master_that_evicted_locks_is_not_trusted_alone),
    EVICTION_CASE(master_that_may_evict_does_not_vote_until_it_may_not),
};

CASE_MAIN(cases, NULL, NULL)
