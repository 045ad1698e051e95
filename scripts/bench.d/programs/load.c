/* pawl-bench-load: how many acquire+release pairs a second does a Pawl service do? With --values:
 * how many values of named counters does it give? A connection takes so many of them twice a turn,
 * and a turn counts as a pair. Prints one line of JSON. */
#include "scripts/bench.d/programs/closed_loop.h"
#include "scripts/bench.d/programs/names.h"
#include "scripts/bench.d/programs/tally.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
    struct loop_options loop;
    unsigned ttl_ms;
    unsigned wait_ms;
    unsigned values; /* 0: locks */
};

/* What is the same in all requests. */
struct texts {
    char names[64]; /* of this run alone: what a run before could not release is not met again */
    char body[128];
    int body_len;
    char key[256]; /* a header line; "" without PAWL_KEY */
};

static size_t write_acquire(void *context, const struct loop_lock *lock, char *ret_request)
{
    const struct texts *texts = context;
    return (size_t)snprintf(ret_request, LOOP_REQUEST_MAX,
                            "POST /v1/locks/%s%0*u HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                            texts->names, NAMES_DIGITS, lock->name, texts->key, texts->body_len,
                            texts->body);
}

static size_t write_release(void *context, const struct loop_lock *lock, char *ret_request)
{
    const struct texts *texts = context;
    return (size_t)snprintf(ret_request, LOOP_REQUEST_MAX,
                            "DELETE /v1/locks/%s%0*u HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "%sLock-Id: %s\r\n\r\n",
                            texts->names, NAMES_DIGITS, lock->name, texts->key, lock->id);
}

static size_t write_count(void *context, const struct loop_lock *lock, char *ret_request)
{
    const struct texts *texts = context;
    return (size_t)snprintf(ret_request, LOOP_REQUEST_MAX,
                            "POST /v1/counters/%s%0*u HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                            texts->names, NAMES_DIGITS, lock->name, texts->key, texts->body_len,
                            texts->body);
}

static const struct argp_option option_list[] = {
    {"ttl-ms", 't', "MS", 0, "The TTL asked for (default 30000)", 0},
    {"wait-ms", 'W', "MS", 0, "The wait asked for (default 0)", 0},
    {"values", 'v', "COUNT", 0, "Take so many values of a named counter in a call, and no locks",
     0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->loop;
        return 0;
    case 't':
        options->ttl_ms = (unsigned)tally_option(arg, 1, 1e9, state);
        return 0;
    case 'W':
        options->wait_ms = (unsigned)tally_option(arg, 0, 1e9, state);
        return 0;
    case 'v':
        options->values = (unsigned)tally_option(arg, 1, 1e6, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{.argp = &loop_argp}, {0}};
    static const struct argp argp = {
        .options = option_list,
        .parser = parse_option,
        .doc =
            "Measures acquire+release pairs per second of a Pawl service, or values of counters.",
        .children = children,
    };
    struct options options = {.ttl_ms = 30000};
    loop_options_init(&options.loop);
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    struct texts texts = {.key = ""};
    snprintf(texts.names, sizeof(texts.names), "bench/%d/", (int)getpid());
    texts.body_len =
        options.values > 0
            ? snprintf(texts.body, sizeof(texts.body), "{\"count\":%u}", options.values)
            : snprintf(texts.body, sizeof(texts.body), "{\"ttl_ms\":%u,\"wait_ms\":%u}",
                       options.ttl_ms, options.wait_ms);
    const char *key = getenv("PAWL_KEY");
    if (key && key[0])
        snprintf(texts.key, sizeof(texts.key), "Authorization: Bearer %.128s\r\n", key);
    const struct loop_service locks = {
        .granted = 201,
        .id_member = "lock_id",
        .write_acquire = write_acquire,
        .write_release = write_release,
        .context = &texts,
    };
    const struct loop_service counters = {
        .granted = 200,
        .id_member = "name",
        .write_acquire = write_count,
        .write_release = write_count,
        .context = &texts,
    };
    loop_run(&options.loop, options.values > 0 ? &counters : &locks);
    return 0;
}
