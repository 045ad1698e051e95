#include "tests/chaos/locks.h"

#include "tests/chaos/witness.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    TTL_MIN_MS = 250,
    TTL_MAX_MS = 800,
    WAIT_MAX_MS = 300,
    RETRY_PAUSE_MAX_MS = 40,
    TIMEOUT_MS = 400,     /* added to the time that the service may take by itself, ... */
    TIMEOUT_OWN_MS = 100, /* ... for clients that can ask again: well before the lease ends */

    ASKS_MAX = 4, /* with one lock id, until an answer says what became of it */

    RARE_PERMILLE = 200,
    GROUP_PERMILLE = 100,
    OWN_ID_PERMILLE = 200,
    TOLD_PERMILLE = 200, /* share of the grants under its own lock id: asked for once more */
    LOST_PERMILLE =
        100, /* share of the first asks with it: the answer is lost, whatever the faults */
    AT_ONCE_PERMILLE = 500, /* share of the acquires asked for once more: they do not wait */
};

struct text {
    char bytes[512];
};

static uint16_t any_door(struct client *client)
{
    return client->config->door[sim_rng_below(&client->rng, CLIENT_DOORS)];
}

/* ---- what is wanted -------------------------------------------------------------------------- */

/* Most want one of a few names. The others are granted so seldom that masters enough can forget
 * their tokens in between, one after another. */
static unsigned any_name(struct client *client)
{
    const struct client_config *config = client->config;
    if (sim_rng_chance(&client->rng, RARE_PERMILLE))
        return config->names + sim_rng_below(&client->rng, HISTORY_NAMES_MAX - config->names);
    return sim_rng_below(&client->rng, config->names);
}

static bool has_name(const struct hold *hold, unsigned name)
{
    for (unsigned at = 0; at < hold->count; at++)
        if (hold->name[at] == name)
            return true;
    return false;
}

/* Of the few names, so that groups meet each other and those who want one, in any order. */
static void want_several(struct client *client, struct hold *hold)
{
    const unsigned names = client->config->names;
    const unsigned wanted = sim_rng_between(&client->rng, 2, CLIENT_LOCKS_MAX);
    while (hold->count < wanted) {
        unsigned name = sim_rng_below(&client->rng, names);
        while (has_name(hold, name))
            name = (name + 1) % names;
        hold->name[hold->count++] = name;
    }
}

static struct hold draw(struct client *client)
{
    struct sim_rng *rng = &client->rng;
    struct hold hold = {
        .turn = client->turns++,
        .ttl_ms = sim_rng_between(rng, TTL_MIN_MS, TTL_MAX_MS),
    };
    if (sim_rng_chance(rng, GROUP_PERMILLE))
        want_several(client, &hold);
    else
        hold.name[hold.count++] = any_name(client);
    if (sim_rng_chance(rng, OWN_ID_PERMILLE)) {
        hold.ask = HISTORY_OWN;
        snprintf(hold.lock_id, sizeof(hold.lock_id), "%u-%u-%016" PRIx64 "-chaos", client->number,
                 hold.turn, sim_rng_next(rng));
    }
    return hold;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* ["accounts/3","accounts/0"] */
static struct text list_of(const struct hold *hold)
{
    struct text list = {""};
    int len = 0;
    for (unsigned at = 0; at < hold->count; at++)
        len += snprintf(list.bytes + len, sizeof(list.bytes) - (size_t)len, "%s\"%s\"",
                        at > 0 ? "," : "[", witness_resource(hold->name[at]).bytes);
    snprintf(list.bytes + len, sizeof(list.bytes) - (size_t)len, "]");
    return list;
}

static struct text body_for(const struct client *client, const struct hold *hold, unsigned wait_ms)
{
    struct text body;
    int len = snprintf(body.bytes, sizeof(body.bytes),
                       "{\"ttl_ms\": %u, \"wait_ms\": %u, \"owner\": \"%s\"", hold->ttl_ms, wait_ms,
                       witness_owner(client, hold).bytes);
    if (hold->ask != HISTORY_PLAIN)
        len += snprintf(body.bytes + len, sizeof(body.bytes) - (size_t)len, ", \"lock_id\": \"%s\"",
                        hold->lock_id);
    if (hold->count > 1)
        len += snprintf(body.bytes + len, sizeof(body.bytes) - (size_t)len, ", \"resources\": %s",
                        list_of(hold).bytes);
    snprintf(body.bytes + len, sizeof(body.bytes) - (size_t)len, "}");
    return body;
}

static struct text path_of(const struct hold *hold, unsigned at)
{
    struct text path;
    snprintf(path.bytes, sizeof(path.bytes), "/v1/locks/%s",
             witness_resource(hold->name[at]).bytes);
    return path;
}

/* Asks at either pawld, in the way that @hold says. Returns the status. */
static int ask(struct client *client, struct hold *hold)
{
    struct sim_rng *rng = &client->rng;
    const bool is_first = hold->ask == HISTORY_PLAIN || hold->ask == HISTORY_OWN;
    const bool waits = is_first || !sim_rng_chance(rng, AT_ONCE_PERMILLE);
    const unsigned wait_ms = waits ? sim_rng_below(rng, WAIT_MAX_MS) : 0;
    const struct text body = body_for(client, hold, wait_ms), path = path_of(hold, 0);
    const struct call_request request = {
        .port = any_door(client),
        .method = "POST",
        .path = hold->count > 1 ? "/v1/locks" : path.bytes,
        .body = body.bytes,
        .timeout_ms = wait_ms + (hold->ask == HISTORY_PLAIN ? TIMEOUT_MS : TIMEOUT_OWN_MS),
        .loses_answer = hold->ask == HISTORY_OWN && sim_rng_chance(rng, LOST_PERMILLE),
    };
    return witness_acquire(client, hold, &request);
}

static bool is_unknown(int status)
{
    return status == 0 || status == 503;
}

/* An earlier answer stands, whatever the answer to this is. It has claimed nothing yet: so a token
 * that has become higher takes the place of the one before. */
static void ask_though_told(struct client *client, struct hold *hold)
{
    wait_ms(sim_rng_below(&client->rng, hold->ttl_ms));
    hold->ask = HISTORY_TOLD;
    (void)ask(client, hold);
}

bool locks_acquire(struct client *client, struct hold *ret_hold)
{
    struct hold hold = draw(client);
    const bool own_id = hold.ask == HISTORY_OWN;
    int status = ask(client, &hold);
    for (unsigned asks = 1; own_id && is_unknown(status) && asks < ASKS_MAX; asks++) {
        wait_ms(sim_rng_below(&client->rng, RETRY_PAUSE_MAX_MS));
        hold.ask = HISTORY_RETRY;
        status = ask(client, &hold);
    }
    if (status != 200 && status != 201)
        return false;
    if (own_id && sim_rng_chance(&client->rng, TOLD_PERMILLE))
        ask_though_told(client, &hold);
    *ret_hold = hold;
    return true;
}

/* ---- with a lock ----------------------------------------------------------------------------- */

static struct text headers_of(const struct hold *hold, unsigned at)
{
    struct text headers;
    snprintf(headers.bytes, sizeof(headers.bytes), "Lock-Id: %s\r\nFencing-Token: %" PRId64 "\r\n",
             hold->lock_id, hold->token[at]);
    return headers;
}

enum locks_extended locks_extend(struct client *client, struct hold *hold, unsigned at)
{
    const struct text path = path_of(hold, at), headers = headers_of(hold, at);
    struct text body;
    snprintf(body.bytes, sizeof(body.bytes), "{\"ttl_ms\": %u}",
             sim_rng_between(&client->rng, TTL_MIN_MS, TTL_MAX_MS));
    const struct call_request request = {
        .port = any_door(client),
        .method = "PATCH",
        .path = path.bytes,
        .headers = headers.bytes,
        .body = body.bytes,
        .timeout_ms = TIMEOUT_MS,
    };
    struct call_answer answer = witness_call(client, HISTORY_EXTEND, hold, at, &request);
    const int status = answer.status;
    if (status == 201)
        hold->token[at] = call_integer(&answer, "token");
    call_answer_fini(&answer);
    if (status == 201)
        return LOCKS_ANEW;
    return status == 200 ? LOCKS_EXTENDED : LOCKS_NOT_EXTENDED;
}

void locks_release(struct client *client, const struct hold *hold, unsigned at)
{
    const struct text path = path_of(hold, at), headers = headers_of(hold, at);
    const struct call_request request = {
        .port = any_door(client),
        .method = "DELETE",
        .path = path.bytes,
        .headers = headers.bytes,
        .timeout_ms = TIMEOUT_MS,
    };
    witness_leave(client, hold, at);
    struct call_answer answer = witness_call(client, HISTORY_RELEASE, hold, at, &request);
    call_answer_fini(&answer);
}
