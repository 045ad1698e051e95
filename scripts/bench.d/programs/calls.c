#include "scripts/bench.d/programs/calls.h"

#include "fence/protocol/lease.h"
#include "fence/protocol/name.h"
#include "fence/protocol/view.h"
#include "scripts/bench.d/programs/minimal.h"
#include "storage/redis/master.h"

#include <assert.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENT_BITS = 16, /* of a tag; the rest counts the client's requests */
};

struct client {
    uint64_t tag; /* of the request under way; replies with another come too late */
    bool busy;
    bool acquiring;
    unsigned attempt; /* counts its locks */
    unsigned yes;     /* masters that did it */
    unsigned no;
    char resource[CALLS_RESOURCE_MAX];
    char lock_id[FENCE_LOCK_ID_LEN + 1];
};

struct calls {
    struct calls_options options;
    struct calls_events events;
    struct storage_redis_master *masters[FENCE_MASTERS_MAX]; /* of one kind or the other */
    struct minimal_master *minimal[FENCE_MASTERS_MAX];
    unsigned known; /* masters that are ready */
    struct fence_view view;
    uint64_t outstanding; /* requests without a reply so far */
    struct client clients[];
};

/* ---- requests -------------------------------------------------------------------------------- */

static void submit_minimal(struct calls *calls, const struct client *client)
{
    struct minimal_request encoded;
    minimal_encode(client->tag, client->resource, client->lock_id,
                   client->acquiring ? FENCE_TTL_DEFAULT_MS : 0,
                   fence_slot(client->resource, strlen(client->resource)), &encoded);
    for (unsigned i = 0; i < calls->options.asked; i++)
        minimal_submit(calls->minimal[i], &encoded);
}

static void submit(struct calls *calls, const struct client *client)
{
    const struct fence_request request = {
        .kind = client->acquiring ? FENCE_REQUEST_TAKE : FENCE_REQUEST_RELEASE,
        .tag = client->tag,
        .resource = client->resource,
        .lock_id = client->lock_id,
        .owner = "",
        .attempt = client->attempt,
        .ttl_ms = FENCE_TTL_DEFAULT_MS,
        .slot = (uint16_t)fence_slot(client->resource, strlen(client->resource)),
    };
    struct storage_request encoded;
    storage_request_encode(&request, &encoded);
    for (unsigned i = 0; i < calls->options.asked; i++)
        storage_redis_master_submit(calls->masters[i], &encoded, &calls->view, 1);
}

static void ask(struct calls *calls, struct client *client, bool acquire)
{
    assert(!client->busy && calls->known == calls->options.masters);
    client->busy = true;
    client->acquiring = acquire;
    client->tag += UINT64_C(1) << CLIENT_BITS;
    client->yes = client->no = 0;
    (calls->options.minimal ? submit_minimal : submit)(calls, client);
    calls->outstanding += calls->options.asked;
}

void calls_acquire(struct calls *calls, unsigned client, const char *resource)
{
    struct client *c = &calls->clients[client];
    const size_t len = strlen(resource);
    assert(len < sizeof(c->resource));
    memcpy(c->resource, resource, len + 1);
    c->attempt++;
    ask(calls, c, true);
}

void calls_release(struct calls *calls, unsigned client)
{
    ask(calls, &calls->clients[client], false);
}

const char *calls_lock_id(const struct calls *calls, unsigned client)
{
    return calls->clients[client].lock_id;
}

/* ---- replies --------------------------------------------------------------------------------- */

static struct client *client_of(struct calls *calls, uint64_t tag)
{
    return &calls->clients[tag & ((1U << CLIENT_BITS) - 1)];
}

static void advance(struct calls *calls, struct client *client, bool good)
{
    client->busy = false;
    calls->events.answered(calls->events.context, (unsigned)(client - calls->clients), good);
}

/* A master has done, or not, what was asked with @tag. */
static void on_one(struct calls *calls, uint64_t tag, bool yes)
{
    const unsigned majority = fence_majority(calls->options.masters);
    struct client *client = client_of(calls, tag);
    calls->outstanding--;
    if (client->busy && tag == client->tag) {
        client->yes += yes;
        client->no += !yes;
        if (client->yes == majority)
            advance(calls, client, true);
        else if (client->no == calls->options.asked - majority + 1)
            advance(calls, client, false);
    }
    if (calls->outstanding == 0)
        calls->events.idle(calls->events.context);
}

static void on_reply(void *context, unsigned i, const struct fence_reply *reply)
{
    struct calls *calls = context;
    const struct client *client = client_of(calls, reply->tag);
    (void)i;
    on_one(calls, reply->tag,
           reply->kind == (client->acquiring ? FENCE_REPLY_NUMBER : FENCE_REPLY_YES));
}

static void on_minimal_reply(void *context, unsigned i, uint64_t tag, bool done)
{
    (void)i;
    on_one(context, tag, done);
}

/* ---- masters --------------------------------------------------------------------------------- */

static void one_more_is_ready(struct calls *calls)
{
    if (++calls->known == calls->options.masters)
        calls->events.ready(calls->events.context);
}

static void on_facts(void *context, unsigned i, const struct fence_facts *facts)
{
    struct calls *calls = context;
    if (!facts->marked || !facts->marked_active)
        errx(1, "%s belongs to no fleet: run pawld init --new", calls->options.urls[i]);
    fence_view_merge(&calls->view, &facts->view, calls->options.masters);
    one_more_is_ready(calls);
}

static void on_down(void *context, unsigned i, enum fence_reason reason)
{
    struct calls *calls = context;
    (void)reason;
    errx(1, "lost %s: %s", calls->options.urls[i], storage_redis_master_detail(calls->masters[i]));
}

static void on_minimal_ready(void *context, unsigned i)
{
    (void)i;
    one_more_is_ready(context);
}

static void on_minimal_lost(void *context, unsigned i, const char *why)
{
    const struct calls *calls = context;
    errx(1, "lost %s: %s", calls->options.urls[i], why);
}

static void open_minimal(struct calls *calls, uv_loop_t *loop, unsigned i,
                         const struct storage_redis_url *url)
{
    const struct minimal_events events = {
        .context = calls,
        .ready = on_minimal_ready,
        .reply = on_minimal_reply,
        .lost = on_minimal_lost,
    };
    if (url->password[0] != '\0')
        errx(2, "%s: --minimal takes no password", calls->options.urls[i]);
    calls->minimal[i] = minimal_new(loop, i, url, &events);
}

static void open_master(struct calls *calls, uv_loop_t *loop, unsigned i)
{
    struct storage_redis_config config = {
        .loop = loop,
        .index = i,
        .members = calls->options.masters,
        .events = {.context = calls, .facts = on_facts, .down = on_down, .reply = on_reply},
    };
    const char *why;
    if (storage_redis_url_parse(calls->options.urls[i], &config.url, &why) != 0)
        errx(2, "%s: %s", calls->options.urls[i], why);
    if (calls->options.minimal)
        open_minimal(calls, loop, i, &config.url);
    else if (storage_redis_master_new(&config, &calls->masters[i]) != 0)
        errx(1, "out of memory");
}

struct calls *calls_new(uv_loop_t *loop, const struct calls_options *options, unsigned clients,
                        const struct calls_events *events)
{
    assert(clients <= CALLS_CLIENTS_MAX && CALLS_CLIENTS_MAX <= 1U << CLIENT_BITS);
    struct calls *calls = calloc(1, sizeof(*calls) + clients * sizeof(calls->clients[0]));
    if (!calls)
        err(1, "cannot start");
    calls->options = *options;
    calls->events = *events;
    if (calls->options.asked == 0)
        calls->options.asked = options->masters;
    for (unsigned k = 0; k < clients; k++) {
        snprintf(calls->clients[k].lock_id, sizeof(calls->clients[k].lock_id), "%0*u",
                 FENCE_LOCK_ID_LEN, k);
        calls->clients[k].tag = k;
    }
    for (unsigned i = 0; i < options->masters; i++)
        open_master(calls, loop, i);
    return calls;
}

bool calls_could_send(const struct calls *calls)
{
    assert(!calls->options.minimal);
    for (unsigned i = 0; i < calls->options.asked; i++)
        if (storage_master_could_send(storage_redis_master_base(calls->masters[i])))
            return true;
    return false;
}

void calls_flush(struct calls *calls)
{
    for (unsigned i = 0; i < calls->options.masters; i++)
        if (calls->options.minimal)
            minimal_flush(calls->minimal[i]);
        else
            storage_redis_master_flush(calls->masters[i]);
}

void calls_free(struct calls *calls)
{
    for (unsigned i = 0; i < calls->options.masters; i++)
        if (calls->options.minimal)
            minimal_free(calls->minimal[i]);
        else
            storage_redis_master_free(calls->masters[i]);
    free(calls);
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct argp_option option_list[] = {
    {"master", 'm', "URL", 0, "A master: redis://127.0.0.1:6379; give all of the fleet, in order",
     0},
    {"minimal", 'M', NULL, 0, "The least script that locks and counts, rather than pawld's", 0},
    {"majority", 'q', NULL, 0, "Ask only the first majority of them (default: all)", 0},
    {0},
};

static void take_master(struct calls_options *options, const char *url,
                        const struct argp_state *state)
{
    if (options->masters == FENCE_MASTERS_MAX)
        argp_error(state, "more than %d masters", FENCE_MASTERS_MAX);
    options->urls[options->masters++] = url;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct calls_options *options = state->input;
    switch (key) {
    case 'm':
        take_master(options, arg, state);
        return 0;
    case 'M':
        options->minimal = true;
        return 0;
    case 'q':
        options->asked = 1; /* made right when all are known */
        return 0;
    case ARGP_KEY_END:
        if (options->masters % 2 == 0 && !(options->masters == 0 && options->may_be_none))
            argp_error(state, "give an odd number of masters");
        if (options->asked > 0)
            options->asked = fence_majority(options->masters);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp calls_argp = {.options = option_list, .parser = parse_option};
