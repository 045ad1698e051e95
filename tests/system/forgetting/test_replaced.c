/* Masters that are wiped, restarted without data or replaced. They are active again within seconds,
 * whatever the longest lease is, and the locks that were held are held there too. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/masters.h"

#include <stdio.h>

enum {
    MASTERS = 3,
    SHORT_TTL_MAX_MS = 2000, /* a longest lease that can be waited for */
    BEAT_MS = 150,           /* between extensions of a lock under it */
};

#define NAME     "accounts/kept"
#define ACCOUNT  "/v1/accounts/kept"
#define FOR_LONG "{\"ttl_ms\":60000}"
#define BRIEFLY  "{\"ttl_ms\":2000}"

/* How master 0 forgets. */
struct loss {
    const char *command; /* NULL: it is killed, and restarts */
    bool keep_data;      /* ... on the files that it left */
};

static void master_that_forgets_is_back_with_its_locks(void **state)
{
    const struct loss *loss = *state;
    struct forgetting forgetting = forgetting_begin();
    if (loss->command) {
        fleet_command(0, loss->command);
    } else {
        redis_fleet_kill(fleet, 0);
        redis_fleet_restart(fleet, 0, loss->keep_data);
    }
    forgetting_judge(&forgetting);
}

static struct pawl_service ledger;

/* A write under the holder's token: what everything is for. */
static int write_under(const struct grant *grant)
{
    char header[64];
    snprintf(header, sizeof(header), "Fencing-Token: %lld\r\n", (long long)grant->token);
    return call(ledger.port, "PUT", ACCOUNT, header, "{\"balance\":1}")->status;
}

/* The same holder goes on: under its token, or under a higher one if pawld granted it again. */
static void extend(uint16_t port, struct grant *grant, const char *body)
{
    const struct http_response *response = call_extend(port, NAME, grant, body);
    if (response->status == 201) {
        const struct grant again = grant_of(response);
        assert_string_equal(again.lock_id, grant->lock_id);
        assert_true(again.token > grant->token);
        *grant = again;
    } else if (response->status != 200) {
        fail_msg("a lock that was extended in time is not any more: %d %s", response->status,
                 response->body);
    }
}

static void assert_kept(uint16_t port, struct grant *grant)
{
    const struct http_response *contender = call_acquire(port, NAME, BRIEFLY);
    if (contender->status == 201)
        fail_msg("two holders at once: token %lld was granted beside token %lld",
                 (long long)http_integer(contender, "token"), (long long)grant->token);
    assert_int_equal(contender->status, 409);
    extend(port, grant, FOR_LONG);
    assert_true(write_under(grant) < 300);
}

static void assert_given_back(uint16_t port, const struct grant *grant)
{
    call_give_back(port, NAME, grant);
    const struct grant next = call_grant(port, NAME, FOR_LONG);
    assert_true(next.token > grant->token);
    assert_true(write_under(&next) < 300);
    assert_int_equal(write_under(grant), 412);
}

static struct grant keep(uint16_t port)
{
    char db[256];
    snprintf(db, sizeof(db), "%s/ledger.db", fleet->dir);
    ledger = pawl_ledger_start(db, NULL);
    struct grant grant = call_grant(port, NAME, FOR_LONG);
    assert_true(write_under(&grant) < 300);
    return grant;
}

static void forget_one_after_the_other(void **state)
{
    const bool keep_data = fleet->persistence == REDIS_VOLATILE; /* there is nothing to keep */
    uint16_t port = fleet_init_and_serve(FORGETTING_TTL_MAX_MS).port;
    struct grant grant = keep(port);
    for (unsigned i = 0; i < fleet->n; i++) {
        redis_fleet_kill(fleet, i);
        assert_kept(port, &grant);
        redis_fleet_restart(fleet, i, keep_data);
        masters_wait_within(port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
        assert_kept(port, &grant);
    }
    assert_given_back(port, &grant);
}

/* The empty master has rejoined at the end. */
static void replace_by_empty(uint16_t port, unsigned i)
{
    redis_fleet_kill(fleet, i);
    redis_fleet_restart(fleet, i, false);
    masters_wait_within(port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
}

/* Then each master has it by an import alone. */
static void lock_that_is_not_extended_meanwhile_is_granted_again(void **state)
{
    uint16_t port = fleet_init_and_serve(FORGETTING_TTL_MAX_MS).port;
    struct grant grant = keep(port);
    const int64_t token = grant.token;
    for (unsigned i = 0; i < fleet->n; i++)
        replace_by_empty(port, i);
    assert_kept(port, &grant);
    assert_true(grant.token > token);
    assert_given_back(port, &grant);
}

/* Then a majority has it by imports alone, and the other master lacks it. */
static void lock_is_granted_again_after_only_its_own_masters_were_replaced(void **state)
{
    uint16_t port = fleet_init_and_serve(FORGETTING_TTL_MAX_MS).port;
    struct grant grant = keep(port);
    const int64_t token = grant.token;
    long long has[MASTERS];
    for (unsigned i = 0; i < MASTERS; i++)
        has[i] = redis_fleet_integer(fleet, i, "EXISTS pawl:lock:%s", NAME);
    assert_int_equal(has[0] + has[1] + has[2], 2);
    for (unsigned i = 0; i < MASTERS; i++)
        if (has[i])
            replace_by_empty(port, i);
    assert_kept(port, &grant);
    assert_true(grant.token > token);
    assert_given_back(port, &grant);
}

/* To new addresses, and so to a new pawld each time. */
static void lock_lives_through_the_move_of_all_masters_one_after_the_other(void **state)
{
    struct redis_fleet *elsewhere = redis_fleet_new(MASTERS, REDIS_ALWAYS);
    uint16_t port = fleet_init_and_serve(FORGETTING_TTL_MAX_MS).port;
    struct grant grant = keep(port);
    for (unsigned i = 0; i < MASTERS; i++) {
        redis_fleet_kill(fleet, i);
        redis_fleet_readdress(fleet, i, elsewhere->master[i].url);
        port = fleet_serve().port;
        masters_wait_within(port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
        assert_kept(port, &grant);
    }
    assert_given_back(port, &grant);
    redis_fleet_free(elsewhere);
}

/* Here each master is back within seconds even if the longest lease is waited for. The lock has to
 * be there too. A moment without a majority costs nothing: the old validity stands. */
static void lock_extended_for_long_is_not_worn_away_by_maintenance(void **state)
{
    uint16_t port = fleet_init_and_serve(SHORT_TTL_MAX_MS).port;
    struct grant grant = call_grant(port, NAME, BRIEFLY);
    for (unsigned i = 0; i < fleet->n; i++) {
        redis_fleet_kill(fleet, i);
        redis_fleet_restart(fleet, i, false);
        const uint64_t end_ms = wait_now_ms() + MASTERS_WAIT_LONG_MS;
        do {
            if (call_extend(port, NAME, &grant, BRIEFLY)->status != 503)
                extend(port, &grant, BRIEFLY);
            wait_ms(BEAT_MS);
        } while (!masters_is(port, i, "active", NULL) && wait_now_ms() < end_ms);
        masters_wait(port, i, "active", NULL);
        extend(port, &grant, BRIEFLY);
    }
    call_give_back(port, NAME, &grant);
    assert_true(call_grant(port, NAME, BRIEFLY).token > grant.token);
}

static void expect_held_released_and_free(uint16_t port, struct grant *grant)
{
    EXPECT_PROBLEM(call_acquire(port, NAME, FOR_LONG), 409, "held", 3);
    extend(port, grant, FOR_LONG);
    call_give_back(port, NAME, grant);
    assert_true(call_grant(port, NAME, FOR_LONG).token > grant->token);
}

static void replace_the_first(uint16_t port)
{
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, false);
    masters_wait_within(port, 0, "active", NULL, MASTERS_WAIT_LONG_MS);
}

static void lock_held_before_a_replacement_is_released_and_free_after_it(void **state)
{
    fleet_init(FORGETTING_TTL_MAX_MS);
    uint16_t port = fleet_serve_all().port;
    struct grant grant = call_grant(port, NAME, FOR_LONG);
    replace_the_first(port);
    redis_fleet_kill(fleet, 1); /* the new one is needed for all that follows */
    expect_held_released_and_free(port, &grant);
}

/* Two of three masters had the lock. An extension brings it to the third. */
static void lock_of_a_majority_is_free_after_a_replacement_that_it_was_extended_after(void **state)
{
    uint16_t port = fleet_init_and_serve(FORGETTING_TTL_MAX_MS).port;
    struct grant grant = call_grant(port, NAME, FOR_LONG);
    replace_the_first(port);
    extend(port, &grant, FOR_LONG);
    redis_fleet_kill(fleet, 1);
    expect_held_released_and_free(port, &grant);
}

#define DURABLE(name) FLEET_CASE(name, MASTERS, REDIS_ALWAYS)
#define FORGETS(name, persistence, ...)                                                            \
    FLEET_ROW(#name, master_that_forgets_is_back_with_its_locks, MASTERS, persistence,             \
              &((struct loss){__VA_ARGS__}))

static const struct CMUnitTest cases[] = {
    FORGETS(master_that_was_flushed_is_back_with_its_locks, REDIS_ALWAYS, .command = "FLUSHALL"),
    FORGETS(master_whose_marker_was_deleted_is_back_with_its_locks, REDIS_ALWAYS,
            .command = "DEL pawl:fleet"),
    FORGETS(empty_master_in_place_of_a_dead_one_is_back_with_its_locks, REDIS_ALWAYS,
            .keep_data = false),
    /* There is nothing to keep. */
    FORGETS(master_that_keeps_nothing_is_back_with_its_locks, REDIS_VOLATILE, .keep_data = true),
    FLEET_ROW("lock_lives_through_the_replacement_of_all_masters_one_after_the_other",
              forget_one_after_the_other, MASTERS, REDIS_ALWAYS, NULL),
    FLEET_ROW("lock_lives_through_the_restart_of_all_masters_that_keep_nothing",
              forget_one_after_the_other, MASTERS, REDIS_VOLATILE, NULL),
    DURABLE(lock_that_is_not_extended_meanwhile_is_granted_again),
    DURABLE(lock_is_granted_again_after_only_its_own_masters_were_replaced),
    DURABLE(lock_lives_through_the_move_of_all_masters_one_after_the_other),
    DURABLE(lock_extended_for_long_is_not_worn_away_by_maintenance),
    DURABLE(lock_held_before_a_replacement_is_released_and_free_after_it),
    DURABLE(lock_of_a_majority_is_free_after_a_replacement_that_it_was_extended_after),
};

CASE_MAIN(cases, NULL, NULL)
