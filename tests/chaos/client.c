/* chaos_client --door PORT --door PORT --ledger PORT --history FILE [--first N] [--seed N] ...
 *
 * Some clients of the service, each a thread: takes a lock, or a few at once, claims the account of
 * each at the ledger, adds 1 to its balance, and releases. Some sleep through their lease between
 * reading and writing, some extend it once or often, some never release. Every call is written
 * down.
 *
 * It runs until it is killed. It ends by itself, with 1, on an answer that no client may get. */
#include "tests/chaos/client.h"

#include "tests/chaos/counting.h"
#include "tests/chaos/locks.h"
#include "tests/chaos/witness.h"
#include "tests/lib/wait.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS_MAX = 64,

    PAUSE_MAX_MS = 40,      /* between two turns */
    WORK_MAX_MS = 10,       /* between reading and writing */
    OVERSLEEP_MAX_MS = 500, /* past the end of a lease */
    TIMEOUT_MS = 400,

    OVERSLEEP_PERMILLE = 40,
    EXTEND_PERMILLE = 60,
    STAY_PERMILLE = 30,      /* extends again and again, ... */
    STAY_MAX = 12,           /* ... so often at most */
    KEEP_PERMILLE = 20,      /* does not release */
    COUNT_PERMILLE = 300,    /* takes values of a counter, too */
    COUNT_PAUSE_MAX_MS = 40, /* for clients that only count */
};

/* ---- what the locks protect ------------------------------------------------------------------ */

struct text {
    char bytes[128];
};

static struct call_answer ledger_call(const struct client *client, enum history_kind kind,
                                      const struct hold *hold, unsigned at, const char *body)
{
    struct text path, headers;
    snprintf(path.bytes, sizeof(path.bytes), "/v1/accounts/%u%s", hold->name[at],
             kind == HISTORY_CLAIM ? "/claim" : "");
    snprintf(headers.bytes, sizeof(headers.bytes), "Fencing-Token: %" PRId64 "\r\n",
             hold->token[at]);
    const struct call_request request = {
        .port = client->config->ledger,
        .method = kind == HISTORY_CLAIM ? "POST" : "PUT",
        .path = path.bytes,
        .headers = headers.bytes,
        .body = body,
        .timeout_ms = TIMEOUT_MS,
    };
    return witness_call(client, kind, hold, at, &request);
}

/* False: what the account holds is not to be had, or not any more. */
static bool claim(const struct client *client, const struct hold *hold, unsigned at,
                  int64_t *ret_balance)
{
    struct call_answer answer = ledger_call(client, HISTORY_CLAIM, hold, at, NULL);
    const int status = answer.status;
    if (status == 200 || status == 404) /* none yet: it starts at 0 */
        *ret_balance = status == 200 ? call_integer(&answer, "balance") : 0;
    call_answer_fini(&answer);
    return status == 200 || status == 404;
}

static void put(const struct client *client, const struct hold *hold, unsigned at, int64_t balance)
{
    struct text body;
    snprintf(body.bytes, sizeof(body.bytes), "{\"balance\": %" PRId64 "}", balance);
    struct call_answer answer = ledger_call(client, HISTORY_WRITE, hold, at, body.bytes);
    call_answer_fini(&answer);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

/* The accounts of the locks that a client read. */
struct accounts {
    bool claimed[CLIENT_LOCKS_MAX];
    int64_t balance[CLIENT_LOCKS_MAX];
};

/* Another may have written before the lock was granted again: so what it read does not count. */
static bool extend(struct client *client, struct hold *hold, unsigned at, struct accounts *accounts)
{
    const enum locks_extended extended = locks_extend(client, hold, at);
    if (extended == LOCKS_ANEW)
        accounts->claimed[at] = claim(client, hold, at, &accounts->balance[at]);
    return extended != LOCKS_NOT_EXTENDED;
}

/* Keeps the locks for some leases, while they can be extended: masters may forget in between. */
static void stay(struct client *client, struct hold *hold, struct accounts *accounts)
{
    for (unsigned left = sim_rng_between(&client->rng, 1, STAY_MAX); left > 0; left--) {
        wait_ms(hold->ttl_ms / 3);
        for (unsigned at = 0; at < hold->count; at++)
            if (!extend(client, hold, at, accounts))
                return;
    }
}

/* The steps between reading and writing. */
static void work(struct client *client, struct hold *hold, struct accounts *accounts)
{
    struct sim_rng *rng = &client->rng;
    if (sim_rng_chance(rng, OVERSLEEP_PERMILLE)) {
        wait_ms(hold->ttl_ms + sim_rng_below(rng, OVERSLEEP_MAX_MS));
    } else if (sim_rng_chance(rng, EXTEND_PERMILLE)) {
        wait_ms(sim_rng_below(rng, hold->ttl_ms));
        for (unsigned at = 0; at < hold->count; at++)
            (void)extend(client, hold, at, accounts);
        wait_ms(sim_rng_below(rng, hold->ttl_ms));
    } else if (sim_rng_chance(rng, STAY_PERMILLE)) {
        stay(client, hold, accounts);
    } else {
        wait_ms(sim_rng_below(rng, WORK_MAX_MS));
    }
}

/* To each, once all are claimed. */
static void add_one(struct client *client, struct hold *hold)
{
    struct accounts accounts = {0};
    for (unsigned at = 0; at < hold->count; at++) {
        accounts.claimed[at] = claim(client, hold, at, &accounts.balance[at]);
        if (!accounts.claimed[at])
            return;
    }
    work(client, hold, &accounts);
    for (unsigned at = 0; at < hold->count; at++)
        if (accounts.claimed[at])
            put(client, hold, at, accounts.balance[at] + 1);
}

static void *run(void *arg)
{
    struct client *client = arg;
    struct hold hold;
    for (;;) {
        if (locks_acquire(client, &hold)) {
            add_one(client, &hold);
            if (!sim_rng_chance(&client->rng, KEEP_PERMILLE))
                for (unsigned at = 0; at < hold.count; at++)
                    locks_release(client, &hold, at);
        }
        if (sim_rng_chance(&client->rng, COUNT_PERMILLE))
            counting_call(client);
        wait_ms(sim_rng_below(&client->rng, PAUSE_MAX_MS));
    }
    return NULL;
}

static void *run_counting(void *arg)
{
    struct client *client = arg;
    for (;;) {
        counting_call(client);
        wait_ms(sim_rng_below(&client->rng, COUNT_PAUSE_MAX_MS));
    }
    return NULL;
}

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct client_config *config = state->input;
    const unsigned long long number = text ? strtoull(text, NULL, 10) : 0;
    switch (key) {
    case 'd':
        if (config->doors == CLIENT_DOORS)
            argp_error(state, "more than %d doors", CLIENT_DOORS);
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
    case 'c':
        config->counting = (unsigned)number;
        return 0;
    case 'n':
        config->names = (unsigned)number;
        return 0;
    case 's':
        config->seed = number;
        return 0;
    case ARGP_KEY_END:
        if (config->doors != CLIENT_DOORS || !config->ledger || !config->history_path ||
            config->threads - 1 >= THREADS_MAX || config->names < CLIENT_LOCKS_MAX ||
            config->names >= HISTORY_NAMES_MAX)
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
    {"counting", 'c', "COUNT", 0, "How many of them only count", 0},
    {"names", 'n', "COUNT", 0, "How many locks they fight for", 0},
    {"seed", 's', "NUMBER", 0, "What they draw from", 0},
    {0},
};

int main(int argc, char **argv)
{
    static struct client clients[THREADS_MAX];
    static const struct argp argp = {options, parse_option, NULL, "Clients of a chaos run.",
                                     NULL,    NULL,         NULL};
    struct client_config config = {.threads = 1, .names = CLIENT_LOCKS_MAX};
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
        if (pthread_create(&client->thread, NULL, i < config.counting ? run_counting : run,
                           client) != 0)
            return 1;
    }
    pthread_join(clients[0].thread, NULL);
    return 1;
}
