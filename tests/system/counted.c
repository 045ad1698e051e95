#include "tests/system/counted.h"

#include "tests/lib/case.h"
#include "tests/lib/clock.h"
#include "tests/lib/http.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_BYTES = 128,
    BLOCK_MAX = 5, /* values that a call takes at the most */
    PAUSE_MS = 10, /* after a call that had no value */
};

/* The values of one call, as its client saw it. Times are of the boot clock. */
struct taken {
    int64_t first, last;
    uint64_t asked_us;
    uint64_t answered_us;
};

struct client {
    pthread_t thread;
    uint16_t port;
    char path[PATH_BYTES];
    uint64_t end_ms;
    unsigned seed;
    struct taken *taken;
    size_t count;
    size_t size;
};

static struct taken *add_taken(struct client *client)
{
    if (client->count == client->size) {
        client->size = client->size ? client->size * 2 : 64;
        client->taken = realloc(client->taken, client->size * sizeof(client->taken[0]));
        assert_non_null(client->taken);
    }
    return &client->taken[client->count++];
}

/* Assertions in a thread that runs no test end the program, and with it all its processes. */
static void take(struct client *client, struct http *http)
{
    char body[32];
    struct http_response response;
    const int64_t block = 1 + rand_r(&client->seed) % BLOCK_MAX;
    snprintf(body, sizeof(body), "{\"count\": %d}", (int)block);
    const uint64_t asked_us = clock_us();
    http_request(http, "POST", client->path, NULL, body, &response);
    if (response.status == 200) {
        const int64_t last = http_integer(&response, "value");
        *add_taken(client) = (struct taken){last - block + 1, last, asked_us, clock_us()};
    } else if (response.status == 409 || response.status == 503) {
        wait_ms(PAUSE_MS);
    } else {
        fail_msg("answered with %d: %s", response.status, response.body);
    }
    http_response_fini(&response);
}

static void *count_on(void *arg)
{
    struct client *client = arg;
    struct http *http = http_connect(client->port);
    while (wait_now_ms() < client->end_ms)
        take(client, http);
    http_close(http);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static int by_asking(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    return (x->asked_us > y->asked_us) - (x->asked_us < y->asked_us);
}

static int by_answer(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    return (x->answered_us > y->answered_us) - (x->answered_us < y->answered_us);
}

static void expect_distinct_values(struct taken *taken, size_t count)
{
    qsort(taken, count, sizeof(*taken), by_value);
    assert_true(count == 0 || taken[0].first > 0);
    for (size_t i = 1; i < count; i++)
        if (taken[i].first <= taken[i - 1].last)
            fail_msg("%lld to %lld were given, and %lld to %lld", (long long)taken[i - 1].first,
                     (long long)taken[i - 1].last, (long long)taken[i].first,
                     (long long)taken[i].last);
}

/* A call that was answered before another call was sent has the lower values. Calls of one client
 * are such calls, too. */
static void expect_values_in_order(const struct taken *taken, size_t count)
{
    struct taken *asked = calloc(2 * count + 1, sizeof(*asked));
    assert_non_null(asked);
    struct taken *answered = asked + count;
    memcpy(asked, taken, count * sizeof(*asked));
    memcpy(answered, taken, count * sizeof(*answered));
    qsort(asked, count, sizeof(*asked), by_asking);
    qsort(answered, count, sizeof(*answered), by_answer);
    int64_t highest = 0;
    size_t before = 0;
    for (size_t i = 0; i < count; i++) {
        for (; answered[before].answered_us < asked[i].asked_us; before++)
            if (answered[before].last > highest)
                highest = answered[before].last;
        if (asked[i].first <= highest)
            fail_msg("%lld was given after %lld", (long long)asked[i].first, (long long)highest);
    }
    free(asked);
}

/* All that the clients were given; frees theirs. */
static struct taken *gather(struct client clients[], size_t *ret_count)
{
    size_t count = 0;
    for (unsigned i = 0; i < COUNTED_CLIENTS; i++)
        count += clients[i].count;
    struct taken *all = calloc(count + 1, sizeof(*all));
    assert_non_null(all);
    count = 0;
    for (unsigned i = 0; i < COUNTED_CLIENTS; i++) {
        if (clients[i].count > 0)
            memcpy(all + count, clients[i].taken, clients[i].count * sizeof(*all));
        count += clients[i].count;
        free(clients[i].taken);
    }
    *ret_count = count;
    return all;
}

size_t counted_run(const uint16_t ports[], const char *name, unsigned duration_ms,
                   void (*disturb)(void))
{
    struct client clients[COUNTED_CLIENTS];
    size_t count = 0, at = 0;
    for (unsigned i = 0; i < COUNTED_CLIENTS; i++) {
        clients[i] = (struct client){
            .port = ports[at], .end_ms = wait_now_ms() + duration_ms, .seed = i + 1};
        snprintf(clients[i].path, sizeof(clients[i].path), "/v1/counters/%s", name);
        at = ports[at + 1] != 0 ? at + 1 : 0;
        assert_int_equal(pthread_create(&clients[i].thread, NULL, count_on, &clients[i]), 0);
    }
    if (disturb) {
        wait_ms(duration_ms / 4);
        disturb();
    }
    for (unsigned i = 0; i < COUNTED_CLIENTS; i++)
        assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
    struct taken *all = gather(clients, &count);
    expect_distinct_values(all, count);
    expect_values_in_order(all, count);
    free(all);
    return count;
}
