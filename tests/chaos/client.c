/* chaos_client --door PORT --door PORT --ledger PORT --history FILE [--first N] [--seed N] ...
 *
 * Some clients of the service, each a thread: takes a lock from either pawld, claims its account at
 * the ledger, adds 1 to the balance, and releases. Some sleep through their lease between reading
 * and writing, some extend it, some never release. Every call is written down, in one line and with
 * one write(), so that the process may be stopped or killed at any moment.
 *
 * It runs until it is killed. It ends by itself, with 1, on an answer that no client may get. */
#include "fence/limits.h"
#include "tests/chaos/call.h"
#include "tests/chaos/history.h"
#include "tests/lib/wait.h"
#include "tests/sim/rng.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DOORS = 2, /* one for each pawld */
    THREADS_MAX = 64,

    TTL_MIN_MS = 250,
    TTL_MAX_MS = 800,
    WAIT_MAX_MS = 300,
    PAUSE_MAX_MS = 40,      /* between two turns */
    WORK_MAX_MS = 10,       /* between reading and writing */
    OVERSLEEP_MAX_MS = 500, /* past the end of a lease */
    TIMEOUT_MS = 400,       /* beside what the service may take by itself */

    RARE_PERMILLE = 200,
    OVERSLEEP_PERMILLE = 40,
    EXTEND_PERMILLE = 60,
    KEEP_PERMILLE = 20, /* does not release */
};

struct config {
    uint16_t door[DOORS];
    unsigned doors;
    uint16_t ledger;
    const char *history_path;
    unsigned first; /* number of the first client of this process */
    unsigned threads;
    unsigned names;
    uint64_t seed;
};

struct client {
    pthread_t thread;
    const struct config *config;
    struct sim_rng rng;
    unsigned number;
    int history;
};

struct lease {
    unsigned name;
    int64_t token;
    unsigned ttl_ms;
    char lock_id[FENCE_LOCK_ID_MAX + 1];
};

struct text {
    char bytes[256];
};

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- one call -------------------------------------------------------------------------------- */

static bool allowed(enum history_kind kind, int status)
{
    if (status == 0 || status == 503)
        return true;
    switch (kind) {
    case HISTORY_ACQUIRE:
        return status == 201 || status == 409;
    case HISTORY_EXTEND:
        return status == 200 || status == 409;
    case HISTORY_RELEASE:
        return status == 200;
    case HISTORY_CLAIM:
        return status == 200 || status == 404 || status == 412;
    case HISTORY_WRITE:
        return status == 200 || status == 201 || status == 412;
    case HISTORY_LEAVE:
    case HISTORY_KINDS:
        break;
    }
    return false;
}

static void write_down(const struct client *client, const struct history_call *done)
{
    char line[HISTORY_LINE_MAX];
    history_format(done, line);
    const size_t len = strlen(line);
    if (write(client->history, line, len) != (ssize_t)len) {
        fprintf(stderr, "cannot write the history: %s\n", strerror(errno));
        exit(1);
    }
}

/* Sends @request, which concerns @lease, and writes down what came of it. What it grants, and until
 * when, is read off the answer. */
static struct call_answer make(const struct client *client, enum history_kind kind,
                               const struct lease *lease, const struct call_request *request)
{
    struct call_answer answer;
    struct history_call done = {.kind = kind, .name = lease->name, .client = client->number};
    done.sent_us = now_us();
    call(request, &answer);
    done.answered_us = now_us();
    if (!allowed(kind, answer.status)) {
        char *body = json_dumps(answer.json, 0);
        fprintf(stderr, "%s %s was answered with %d: %s\n", request->method, request->path,
                answer.status, body ? body : "");
        exit(1);
    }
    done.status = answer.status;
    done.token = kind == HISTORY_ACQUIRE ? call_integer(&answer, "token") : lease->token;
    const int64_t validity_ms = call_integer(&answer, "validity_ms");
    if (validity_ms > 0) /* the contract: reckoned from when the holder asked */
        done.till_us =
            done.sent_us + (uint64_t)(call_integer(&answer, "served_ms") + validity_ms) * 1000;
    write_down(client, &done);
    return answer;
}

/* ---- the lock -------------------------------------------------------------------------------- */

static uint16_t any_door(struct client *client)
{
    return client->config->door[sim_rng_below(&client->rng, DOORS)];
}

/* Most want one of a few names. The others are granted so seldom that masters enough may forget
 * their tokens in between, one after another. */
static unsigned any_name(struct client *client)
{
    const struct config *config = client->config;
    if (sim_rng_chance(&client->rng, RARE_PERMILLE))
        return config->names + sim_rng_below(&client->rng, HISTORY_NAMES_MAX - config->names);
    return sim_rng_below(&client->rng, config->names);
}

static struct text lock_path(const struct lease *lease)
{
    struct text path;
    snprintf(path.bytes, sizeof(path.bytes), "/v1/locks/accounts/%u", lease->name);
    return path;
}

static struct text lock_headers(const struct lease *lease)
{
    struct text headers;
    snprintf(headers.bytes, sizeof(headers.bytes), "Lock-Id: %s\r\nFencing-Token: %" PRId64 "\r\n",
             lease->lock_id, lease->token);
    return headers;
}

static bool acquire(struct client *client, struct lease *lease)
{
    struct sim_rng *rng = &client->rng;
    const unsigned patience_ms = sim_rng_below(rng, WAIT_MAX_MS);
    *lease = (struct lease){
        .name = any_name(client),
        .ttl_ms = sim_rng_between(rng, TTL_MIN_MS, TTL_MAX_MS),
    };
    struct text body, path = lock_path(lease);
    snprintf(body.bytes, sizeof(body.bytes), "{\"ttl_ms\": %u, \"wait_ms\": %u}", lease->ttl_ms,
             patience_ms);
    struct call_answer answer =
        make(client, HISTORY_ACQUIRE, lease,
             &(struct call_request){any_door(client), "POST", path.bytes, NULL, body.bytes,
                                    patience_ms + TIMEOUT_MS});
    const bool granted = answer.status == 201;
    if (granted) {
        const char *id = call_string(&answer, "lock_id");
        snprintf(lease->lock_id, sizeof(lease->lock_id), "%s", id ? id : "");
        lease->token = call_integer(&answer, "token");
    }
    call_answer_fini(&answer);
    return granted;
}

static void extend(struct client *client, const struct lease *lease)
{
    struct text body, path = lock_path(lease), headers = lock_headers(lease);
    snprintf(body.bytes, sizeof(body.bytes), "{\"ttl_ms\": %u}",
             sim_rng_between(&client->rng, TTL_MIN_MS, TTL_MAX_MS));
    struct call_answer answer = make(client, HISTORY_EXTEND, lease,
                                     &(struct call_request){any_door(client), "PATCH", path.bytes,
                                                            headers.bytes, body.bytes, TIMEOUT_MS});
    call_answer_fini(&answer);
}

static void release(struct client *client, const struct lease *lease)
{
    struct text path = lock_path(lease), headers = lock_headers(lease);
    const uint64_t left_us = now_us();
    write_down(client, &(struct history_call){HISTORY_LEAVE, lease->name, client->number, left_us,
                                              left_us, 0, lease->token, 0});
    struct call_answer answer = make(client, HISTORY_RELEASE, lease,
                                     &(struct call_request){any_door(client), "DELETE", path.bytes,
                                                            headers.bytes, NULL, TIMEOUT_MS});
    call_answer_fini(&answer);
}

/* ---- what it protects ------------------------------------------------------------------------ */

static struct call_answer ledger_call(struct client *client, enum history_kind kind,
                                      const struct lease *lease, const char *body)
{
    struct text path, headers;
    snprintf(path.bytes, sizeof(path.bytes), "/v1/accounts/%u%s", lease->name,
             kind == HISTORY_CLAIM ? "/claim" : "");
    snprintf(headers.bytes, sizeof(headers.bytes), "Fencing-Token: %" PRId64 "\r\n", lease->token);
    return make(client, kind, lease,
                &(struct call_request){client->config->ledger,
                                       kind == HISTORY_CLAIM ? "POST" : "PUT", path.bytes,
                                       headers.bytes, body, TIMEOUT_MS});
}

/* What happens between reading and writing. */
static void work(struct client *client, const struct lease *lease)
{
    struct sim_rng *rng = &client->rng;
    if (sim_rng_chance(rng, OVERSLEEP_PERMILLE)) {
        wait_ms(lease->ttl_ms + sim_rng_below(rng, OVERSLEEP_MAX_MS));
    } else if (sim_rng_chance(rng, EXTEND_PERMILLE)) {
        wait_ms(sim_rng_below(rng, lease->ttl_ms));
        extend(client, lease);
        wait_ms(sim_rng_below(rng, lease->ttl_ms));
    } else {
        wait_ms(sim_rng_below(rng, WORK_MAX_MS));
    }
}

static void add_one(struct client *client, const struct lease *lease)
{
    struct text body;
    struct call_answer answer = ledger_call(client, HISTORY_CLAIM, lease, NULL);
    const bool claimed =
        answer.status == 200 || answer.status == 404; /* none yet: it starts at 0 */
    const int64_t balance = answer.status == 200 ? call_integer(&answer, "balance") : 0;
    call_answer_fini(&answer);
    if (!claimed)
        return;
    work(client, lease);
    snprintf(body.bytes, sizeof(body.bytes), "{\"balance\": %" PRId64 "}", balance + 1);
    answer = ledger_call(client, HISTORY_WRITE, lease, body.bytes);
    call_answer_fini(&answer);
}

static void *run(void *arg)
{
    struct client *client = arg;
    struct lease lease;
    for (;;) {
        if (acquire(client, &lease)) {
            add_one(client, &lease);
            if (!sim_rng_chance(&client->rng, KEEP_PERMILLE))
                release(client, &lease);
        }
        wait_ms(sim_rng_below(&client->rng, PAUSE_MAX_MS));
    }
    return NULL;
}

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct config *config = state->input;
    const unsigned long long number = text ? strtoull(text, NULL, 10) : 0;
    switch (key) {
    case 'd':
        if (config->doors == DOORS)
            argp_error(state, "more than %d doors", DOORS);
        config->door[config->doors++] = (uint16_t)number;
        return 0;
    case 'l':
        config->ledger = (uint16_t)number;
        return 0;
    case 'h':
        config->history_path = text;
        return 0;
    case 'f':
        config->first = (unsigned)number;
        return 0;
    case 't':
        config->threads = (unsigned)number;
        return 0;
    case 'n':
        config->names = (unsigned)number;
        return 0;
    case 's':
        config->seed = number;
        return 0;
    case ARGP_KEY_END:
        if (config->doors != DOORS || !config->ledger || !config->history_path ||
            config->threads - 1 >= THREADS_MAX || config->names - 1 >= HISTORY_NAMES_MAX)
            argp_error(state, "the doors, the ledger, the history, and sane numbers, please");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"door", 'd', "PORT", 0, "Where to reach a pawld; twice", 0},
    {"ledger", 'l', "PORT", 0, "Where the ledger is", 0},
    {"history", 'h', "FILE", 0, "What to append every call to", 0},
    {"first", 'f', "NUMBER", 0, "The first client's number in the history", 0},
    {"threads", 't', "COUNT", 0, "How many clients", 0},
    {"names", 'n', "COUNT", 0, "How many locks they fight for", 0},
    {"seed", 's', "NUMBER", 0, "What they draw from", 0},
    {0},
};

int main(int argc, char **argv)
{
    static struct client clients[THREADS_MAX];
    static const struct argp argp = {options, parse_option, NULL, "Clients of a chaos run.",
                                     NULL,    NULL,         NULL};
    struct config config = {.threads = 1, .names = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &config);
    const int history = open(config.history_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (history < 0) {
        fprintf(stderr, "cannot write %s: %s\n", config.history_path, strerror(errno));
        return 1;
    }
    for (unsigned i = 0; i < config.threads; i++) {
        struct client *client = &clients[i];
        *client =
            (struct client){.config = &config, .number = config.first + i, .history = history};
        sim_rng_init(&client->rng, config.seed, client->number);
        if (pthread_create(&client->thread, NULL, run, client) != 0)
            return 1;
    }
    pthread_join(clients[0].thread, NULL);
    return 1;
}
