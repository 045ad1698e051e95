#include "tests/system/hammer.h"

#include "fence/protocol/limits.h"
#include "tests/lib/case.h"
#include "tests/lib/clock.h"
#include "tests/lib/http.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TTL_MS = 500,
    WAIT_MS = 1000,
    THERE_MS = 20000,   /* until all clients have gone on */
    OVERSLEEP_MS = 200, /* how far past its lease a sleeper sleeps, at most */
    PAUSE_MS = 20,      /* at most, after a refusal */
    HEADERS_MAX = 128,
};

struct client {
    pthread_t thread;
    struct hammer *hammer;
    struct http *pawld;
    atomic_ushort port; /* of it */
    struct http *ledger;
    unsigned seed;
    struct hammer_result seen;
    size_t size; /* room in seen.grants */
};

struct hammer {
    struct hammer_config config;
    atomic_bool over;
    atomic_ushort port; /* the port where all clients go on; 0: where they are */
    struct client clients[HAMMER_CLIENTS];
};

/* A lock that a client holds. */
struct lease {
    struct hammer_grant *grant;
    char lock_id[FENCE_LOCK_ID_LEN + 1];
};

static unsigned below(struct client *client, unsigned bound)
{
    return (unsigned)rand_r(&client->seed) % bound;
}

/* Assertions in a thread that runs no test end the program, and with it all its processes. */
static void expect_status(const struct http_response *response, int status)
{
    if (response->status != status)
        fail_msg("answered with %d instead of %d: %s", response->status, status, response->body);
}

void hammer_account_path(unsigned name, char ret_path[static HAMMER_PATH_MAX])
{
    snprintf(ret_path, HAMMER_PATH_MAX, "/v1/accounts/hammered-%u", name);
}

static void lock_path(unsigned name, char ret_path[static HAMMER_PATH_MAX])
{
    snprintf(ret_path, HAMMER_PATH_MAX, "/v1/locks/accounts/hammered-%u", name);
}

static struct hammer_grant *add_grant(struct client *client)
{
    struct hammer_result *seen = &client->seen;
    if (seen->count == client->size) {
        client->size = client->size ? client->size * 2 : 64;
        seen->grants = realloc(seen->grants, client->size * sizeof(seen->grants[0]));
        assert_non_null(seen->grants);
    }
    return &seen->grants[seen->count++];
}

static void keep_grant(struct client *client, unsigned name, uint64_t asked_us,
                       const struct http_response *response, struct lease *ret_lease)
{
    const uint64_t lease_ms =
        (uint64_t)(http_integer(response, "served_ms") + http_integer(response, "validity_ms"));
    ret_lease->grant = add_grant(client);
    *ret_lease->grant = (struct hammer_grant){
        .name = name,
        .token = http_integer(response, "token"),
        .asked_us = asked_us,
        .answered_us = clock_us(),
        .held_till_us = asked_us + lease_ms * 1000,
    };
    snprintf(ret_lease->lock_id, sizeof(ret_lease->lock_id), "%s",
             http_string(response, "lock_id"));
}

static void go_where_the_others_go(struct client *client)
{
    const uint16_t port = atomic_load(&client->hammer->port);
    if (port == 0 || port == atomic_load(&client->port))
        return;
    http_close(client->pawld);
    client->pawld = http_connect(port);
    atomic_store(&client->port, port);
}

static bool acquire(struct client *client, struct lease *ret_lease)
{
    const unsigned name = below(client, HAMMER_NAMES);
    char path[HAMMER_PATH_MAX], body[64];
    lock_path(name, path);
    snprintf(body, sizeof(body), "{\"ttl_ms\": %d, \"wait_ms\": %d}", TTL_MS, WAIT_MS);
    const uint64_t asked_us = clock_us();
    struct http_response response;
    http_request(client->pawld, "POST", path, NULL, body, &response);
    const bool granted = response.status == 201;
    if (granted)
        keep_grant(client, name, asked_us, &response, ret_lease);
    else if (response.status == 409)
        client->seen.refused++;
    else if (response.status == 503)
        client->seen.unavailable++;
    else
        expect_status(&response, 201);
    http_response_fini(&response);
    return granted;
}

/* A call to the ledger under the lease's token; false if that was stale. */
static bool ledger_call(struct client *client, const struct lease *lease, const char *method,
                        const char *path, const char *body, struct http_response *ret_response)
{
    char headers[HEADERS_MAX];
    snprintf(headers, sizeof(headers), "Fencing-Token: %lld\r\n", (long long)lease->grant->token);
    if (client->ledger == NULL) /* it ends connections on which nothing comes for ten seconds */
        client->ledger = http_connect(client->hammer->config.ledger);
    http_request(client->ledger, method, path, headers, body, ret_response);
    if (ret_response->status != 412)
        return true;
    client->seen.stale++;
    http_response_fini(ret_response);
    return false;
}

static bool claim(struct client *client, const struct lease *lease, int64_t *ret_balance)
{
    char account[HAMMER_PATH_MAX], path[HAMMER_PATH_MAX + 8];
    struct http_response response;
    hammer_account_path(lease->grant->name, account);
    snprintf(path, sizeof(path), "%s/claim", account);
    if (!ledger_call(client, lease, "POST", path, NULL, &response))
        return false;
    if (response.status == 404) { /* the claim stands, and the first write makes the account */
        *ret_balance = 0;
    } else {
        expect_status(&response, 200);
        *ret_balance = http_integer(&response, "balance");
    }
    http_response_fini(&response);
    return true;
}

static void write_balance(struct client *client, const struct lease *lease, int64_t balance)
{
    char path[HAMMER_PATH_MAX], body[64];
    struct http_response response;
    hammer_account_path(lease->grant->name, path);
    snprintf(body, sizeof(body), "{\"balance\": %lld}", (long long)balance);
    if (!ledger_call(client, lease, "PUT", path, body, &response))
        return;
    if (response.status != 201)
        expect_status(&response, 200);
    client->seen.written[lease->grant->name]++;
    http_response_fini(&response);
}

static void release(struct client *client, const struct lease *lease)
{
    char path[HAMMER_PATH_MAX], headers[HEADERS_MAX];
    struct http_response response;
    lock_path(lease->grant->name, path);
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", lease->lock_id);
    const uint64_t sent_us = clock_us();
    if (lease->grant->held_till_us > sent_us)
        lease->grant->held_till_us = sent_us;
    http_request(client->pawld, "DELETE", path, headers, NULL, &response);
    if (response.status != 503) /* it runs out by itself */
        expect_status(&response, 200);
    http_response_fini(&response);
}

static void *run_client(void *arg)
{
    struct client *client = arg;
    struct hammer *hammer = client->hammer;
    while (!atomic_load(&hammer->over)) {
        struct lease lease;
        int64_t balance;
        go_where_the_others_go(client);
        if (!acquire(client, &lease)) {
            wait_ms(below(client, PAUSE_MS));
            continue;
        }
        if (claim(client, &lease, &balance)) {
            if (below(client, 100) < hammer->config.sleepers_percent)
                wait_ms(TTL_MS + below(client, OVERSLEEP_MS));
            write_balance(client, &lease, balance + 1);
        }
        release(client, &lease);
    }
    return NULL;
}

struct hammer *hammer_start(const struct hammer_config *config)
{
    struct hammer *hammer = calloc(1, sizeof(*hammer));
    assert_non_null(hammer);
    hammer->config = *config;
    for (unsigned i = 0; i < HAMMER_CLIENTS; i++) {
        struct client *client = &hammer->clients[i];
        client->hammer = hammer;
        client->seed = i;
        atomic_store(&client->port, config->pawld[i % 2]);
        client->pawld = http_connect(config->pawld[i % 2]);
        assert_int_equal(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
    return hammer;
}

void hammer_go_to(struct hammer *hammer, uint16_t port)
{
    atomic_store(&hammer->port, port);
}

static bool all_are_there(void *arg)
{
    struct hammer *hammer = arg;
    for (unsigned i = 0; i < HAMMER_CLIENTS; i++)
        if (atomic_load(&hammer->clients[i].port) != atomic_load(&hammer->port))
            return false;
    return true;
}

void hammer_wait_there(struct hammer *hammer)
{
    assert_true(wait_until(all_are_there, hammer, THERE_MS));
}

static void add_result(struct hammer_result *sum, const struct hammer_result *seen)
{
    if (seen->count > 0)
        memcpy(&sum->grants[sum->count], seen->grants, seen->count * sizeof(seen->grants[0]));
    sum->count += seen->count;
    sum->refused += seen->refused;
    sum->unavailable += seen->unavailable;
    sum->stale += seen->stale;
    for (unsigned name = 0; name < HAMMER_NAMES; name++)
        sum->written[name] += seen->written[name];
}

void hammer_stop(struct hammer *hammer, struct hammer_result *ret_result)
{
    struct hammer_result sum = {0};
    size_t count = 0;
    atomic_store(&hammer->over, true);
    for (unsigned i = 0; i < HAMMER_CLIENTS; i++) {
        assert_int_equal(pthread_join(hammer->clients[i].thread, NULL), 0);
        count += hammer->clients[i].seen.count;
    }
    sum.grants = calloc(count + 1, sizeof(sum.grants[0]));
    assert_non_null(sum.grants);
    for (unsigned i = 0; i < HAMMER_CLIENTS; i++) {
        struct client *client = &hammer->clients[i];
        add_result(&sum, &client->seen);
        free(client->seen.grants);
        http_close(client->pawld);
        http_close(client->ledger);
    }
    free(hammer);
    *ret_result = sum;
}

void hammer_result_fini(struct hammer_result *result)
{
    free(result->grants);
    *result = (struct hammer_result){0};
}
