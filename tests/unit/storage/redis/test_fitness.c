#include "storage/redis/fitness.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

static const struct storage_server well = {.version = 70015};

static void assert_unfit(struct storage_server server, bool replica, const char *name)
{
    const struct fence_words *unfit = storage_redis_unfit(&server, replica);
    assert_non_null(unfit);
    assert_string_equal(unfit->name, name);
    assert_int_equal(unfit->text[strlen(unfit->text) - 1], '.');
}

static void server_before_7_is_unfit(void **state)
{
    assert_unfit((struct storage_server){.version = 60299}, false, "old");
    assert_null(storage_redis_unfit(&(struct storage_server){.version = 70000}, false));
}

static void replica_is_unfit(void **state)
{
    assert_null(storage_redis_unfit(&well, false));
    assert_unfit(well, true, "replica");
}

static void cluster_mode_is_unfit(void **state)
{
    assert_unfit((struct storage_server){.version = 70015, .cluster = true}, false, "cluster");
}

static void server_that_may_drop_keys_is_unfit(void **state)
{
    assert_unfit((struct storage_server){.version = 70015, .evicts = true}, false, "evicts");
}

static void assert_found(struct fence_facts facts, struct storage_server server,
                         enum storage_finding finding, const char *name)
{
    storage_redis_find(&facts, &server);
    assert_int_equal(facts.findings, UINT32_C(1) << finding);
    assert_true(finding < 16 && strcmp(facts.finding_words[finding].name, name) == 0);
    const char *text = facts.finding_words[finding].text;
    assert_int_equal(text[strlen(text) - 1], '.');
}

static struct fence_facts forgetful(const char *persistence)
{
    struct fence_facts facts = {.durable = false};
    snprintf(facts.persistence, sizeof(facts.persistence), "%s", persistence);
    return facts;
}

static void server_that_is_well_has_no_findings(void **state)
{
    struct fence_facts facts = {.durable = true, .persistence = "always"};
    storage_redis_find(&facts, &well);
    assert_int_equal(facts.findings, 0);
}

static void whatever_is_weaker_than_always_is_found_by_its_cause(void **state)
{
    assert_found(forgetful("unknown"), well, STORAGE_FINDING_PERSISTENCE_UNKNOWN,
                 "persistence-unknown");
    assert_found(forgetful("none"), well, STORAGE_FINDING_NO_AOF, "no-aof");
    assert_found(forgetful("everysec"), well, STORAGE_FINDING_FSYNC, "fsync");
    assert_found(forgetful("no"), well, STORAGE_FINDING_FSYNC, "fsync");
    assert_found(forgetful("always"), well, STORAGE_FINDING_REWRITE, "fsync-on-rewrite");
}

static void full_memory_and_eviction_are_found(void **state)
{
    const struct fence_facts facts = {.durable = true};
    assert_found((struct fence_facts){.durable = true, .full = true}, well, STORAGE_FINDING_MEMORY,
                 "memory-full");
    assert_found(facts, (struct storage_server){.version = 70015, .evicts = true},
                 STORAGE_FINDING_EVICTION, "eviction");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(server_before_7_is_unfit),
    cmocka_unit_test(replica_is_unfit),
    cmocka_unit_test(cluster_mode_is_unfit),
    cmocka_unit_test(server_that_may_drop_keys_is_unfit),
    cmocka_unit_test(server_that_is_well_has_no_findings),
    cmocka_unit_test(whatever_is_weaker_than_always_is_found_by_its_cause),
    cmocka_unit_test(full_memory_and_eviction_are_found),
};

CASE_MAIN(cases, NULL, NULL)
