/* Holders that extend their locks, while each master in turn dies and comes back empty: none loses
 * what it has. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/copies.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    MASTERS = 5,
    NAMES = 5,
    TTL_MAX_MS = 60000,
    PAUSE_MS = 100, /* between two extensions of a name */
    HEADERS_MAX = 256,
    SAID_MAX = 512,
};

#define TTL "{\"ttl_ms\":3000}"

/* One of each, by slot: where they spread, each master is the first of one name. */
static const char *const candidates[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                         "j", "k", "l", "m", "n", "o", "p", "q", "r",
                                         "s", "t", "u", "v", "w", "x", "y", "z"};

struct holder {
    pthread_t thread;
    const char *name;
    struct grant grant;
    uint64_t valid_till_ms; /* as far as its holder knows */
    unsigned extended, anew, unknown;
    char lost[SAID_MAX]; /* the words when it was lost; "": it was not */
};

static uint16_t port;
static atomic_bool ended;
static struct holder holders[NAMES];

static void lose(struct holder *holder, const struct http_response *response)
{
    snprintf(holder->lost, sizeof(holder->lost), "%s: %d %s", holder->name, response->status,
             response->body ? response->body : "");
}

static void take_over(struct holder *holder, const struct http_response *response, uint64_t sent_ms)
{
    if (response->status == 201)
        holder->grant.token = http_integer(response, "token");
    holder->anew += response->status == 201;
    holder->extended += response->status == 200;
    holder->valid_till_ms = sent_ms + (uint64_t)http_integer(response, "served_ms") +
                            (uint64_t)http_integer(response, "validity_ms");
}

/* Not by call_extend(), which is for one thread. */
static void extend(struct holder *holder)
{
    char path[CALL_PATH_MAX], headers[HEADERS_MAX];
    struct http_response response;
    snprintf(path, sizeof(path), "/v1/locks/%s", holder->name);
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\nFencing-Token: %lld\r\n",
             holder->grant.lock_id, (long long)holder->grant.token);
    const uint64_t sent_ms = wait_now_ms();
    http_once(port, "PATCH", path, headers, TTL, &response);
    if (response.status == 200 || response.status == 201)
        take_over(holder, &response, sent_ms);
    else if (response.status != 503 || wait_now_ms() >= holder->valid_till_ms)
        lose(holder, &response);
    else
        holder->unknown++;
    http_response_fini(&response);
}

static void *hold(void *arg)
{
    struct holder *holder = arg;
    while (!ended && !holder->lost[0]) {
        extend(holder);
        wait_ms(PAUSE_MS);
    }
    return NULL;
}

static void begin(struct holder *holder, const char *name)
{
    *holder = (struct holder){.name = name};
    const uint64_t sent_ms = wait_now_ms();
    holder->grant = call_grant(port, name, TTL);
    holder->valid_till_ms = sent_ms + (uint64_t)holder->grant.validity_ms;
    assert_int_equal(pthread_create(&holder->thread, NULL, hold, holder), 0);
}

static void begin_all(void)
{
    uint32_t begun = 0;
    unsigned count = 0;
    for (size_t k = 0; k < sizeof(candidates) / sizeof(candidates[0]) && count < NAMES; k++) {
        const uint32_t first = copies_ring(candidates[k], 1);
        if (!(begun & first))
            begin(&holders[count++], candidates[k]);
        begun |= first;
    }
    assert_int_equal(count, NAMES);
}

static void replace(unsigned i)
{
    redis_fleet_kill(fleet, i);
    masters_wait_within(port, i, "down", "unreachable", MASTERS_WAIT_LONG_MS);
    wait_ms(200); /* it is extended without the master, too */
    redis_fleet_restart(fleet, i, false);
    masters_wait_within(port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
}

static void expect_held_while_every_master_is_replaced(void **state)
{
    const char *ask = *state;
    fleet_init(TTL_MAX_MS);
    port = pawld_start(fleet, (const char *const[]){FLEET_PROBE, "--ask", ask, NULL}).port;
    masters_wait_all_active(port, MASTERS);
    ended = false;
    begin_all();
    for (unsigned i = 0; i < MASTERS; i++)
        replace(i);
    ended = true;
    unsigned lost = 0;
    for (unsigned k = 0; k < NAMES; k++) {
        struct holder *holder = &holders[k];
        pthread_join(holder->thread, NULL);
        print_message("%s: extended %u times, anew %u times, unknown %u times%s%s\n", holder->name,
                      holder->extended, holder->anew, holder->unknown,
                      holder->lost[0] ? "; lost: " : "", holder->lost);
        lost += holder->lost[0] != '\0';
    }
    assert_int_equal(lost, 0);
    for (unsigned k = 0; k < NAMES; k++)
        call_expect_held(port, holders[k].name, &holders[k].grant);
}

static const struct CMUnitTest cases[] = {
    FLEET_ROW("five_names_are_held_while_every_master_is_replaced",
              expect_held_while_every_master_is_replaced, MASTERS, REDIS_VOLATILE, "majority"),
    FLEET_ROW("five_names_that_spread_are_held_while_every_master_is_replaced",
              expect_held_while_every_master_is_replaced, MASTERS, REDIS_VOLATILE, "spread"),
};

CASE_MAIN(cases, NULL, NULL)
