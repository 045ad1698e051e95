#include "tests/chaos/small.h"

#include "tests/chaos/history.h"
#include "tests/chaos/names.h"
#include "tests/chaos/record.h"
#include "tests/lib/case.h"
#include "tests/lib/http.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void small_path(char ret_path[static SMALL_PATH_BYTES], const char *in, const char *name)
{
    int len = snprintf(ret_path, SMALL_PATH_BYTES, "%s/%s", in, name);
    assert_in_range(len, 1, SMALL_PATH_BYTES - 1);
}

void small_begin(struct small *small)
{
    char folder[SMALL_PATH_BYTES];
    small->dir = tempdir_new();
    small->port = port_free();
    small->ledger.port = port_free();
    small_path(small->history, small->dir, "history");
    small_path(folder, small->dir, "ledger");
    assert_int_equal(mkdir(folder, 0700), 0);
    small_path(small->database, folder, "ledger.db");
}

struct process *small_serve(const struct small *small, const char *folder)
{
    char *program = pawl_program("pawld");
    char listen[32];
    char log[SMALL_PATH_BYTES];
    snprintf(listen, sizeof(listen), "127.0.0.1:%u", (unsigned)small->port);
    small_path(log, small->dir, "pawld.log");
    struct process *pawld =
        process_start((const char *const[]){program, "--data", folder, "--listen", listen,
                                            "--workers", "2", "--max-ttl-ms", "1000", NULL},
                      log);
    process_wait_line(pawld, "listening on", SMALL_START_MS, NULL, 0);
    free(program);
    return pawld;
}

void small_start_ledger(struct small *small)
{
    char *program = pawl_program("pawl-ledger");
    char listen[32];
    char log[SMALL_PATH_BYTES];
    snprintf(listen, sizeof(listen), "127.0.0.1:%u", (unsigned)small->ledger.port);
    small_path(log, small->dir, "ledger.log");
    small->ledger.process = process_start(
        (const char *const[]){program, "--listen", listen, "--db", small->database, NULL}, log);
    process_wait_line(small->ledger.process, "listening on", SMALL_START_MS, NULL, 0);
    free(program);
}

void small_start_clients(struct small *small, uint64_t seed_number)
{
    char log[SMALL_PATH_BYTES], door[32], ledger[32], history[SMALL_PATH_BYTES + 16], seed[40];
    char *program = pawl_beside("chaos_client");
    record_install(small->database);
    small_path(log, small->dir, "clients.log");
    snprintf(door, sizeof(door), "--door=%u", (unsigned)small->port);
    snprintf(ledger, sizeof(ledger), "--ledger=%u", (unsigned)small->ledger.port);
    snprintf(history, sizeof(history), "--history=%s", small->history);
    snprintf(seed, sizeof(seed), "--seed=%" PRIu64, seed_number);
    for (unsigned i = 0; i < SMALL_CLIENTS; i++) {
        char first[32];
        snprintf(first, sizeof(first), "--first=%u", i * SMALL_THREADS);
        small->client[i] = process_start((const char *const[]){program, door, door, ledger, history,
                                                               first, "--threads=5", "--counting=1",
                                                               "--names=8", seed, NULL},
                                         log);
    }
    free(program);
}

unsigned small_active(const struct small *small, uint32_t *ret_modules)
{
    struct http_response response;
    http_once(small->port, "GET", "/v1/fleet", NULL, NULL, &response);
    const json_t *masters = json_object_get(response.json, "masters"), *master;
    uint32_t modules = 0;
    unsigned active = 0;
    size_t i;
    json_array_foreach(masters, i, master)
    {
        const char *state = json_string_value(json_object_get(master, "state"));
        active += state && strcmp(state, "active") == 0;
        modules |= (uint32_t)json_is_true(json_object_get(master, "module")) << i;
    }
    http_response_fini(&response);
    if (ret_modules)
        *ret_modules = modules;
    return active;
}

void small_end(struct small *small)
{
    wait_ms(NAMES_WATCHED_MS);
    for (unsigned i = 0; i < SMALL_CLIENTS; i++)
        process_kill(small->client[i]);
    process_stop(small->ledger.process);
}

static int by_claim(const void *a, const void *b)
{
    const struct history_entry *one = a, *other = b;
    if (one->name != other->name)
        return one->name < other->name ? -1 : 1;
    return (one->token > other->token) - (one->token < other->token);
}

/* Claims and writes that the ledger acknowledged, and of whose token its database has nothing. */
static size_t acknowledged_and_gone(const struct history *history,
                                    const struct history_entry *entries, size_t count)
{
    struct history_entry *sorted = calloc(count + 1, sizeof(*sorted));
    assert_non_null(sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = entries[i];
    qsort(sorted, count, sizeof(*sorted), by_claim);
    size_t gone = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_call *call = &history->calls[i];
        const struct history_entry wanted = {.name = call->name, .token = call->token};
        if ((call->kind == HISTORY_CLAIM || call->kind == HISTORY_WRITE) && call->status / 100 == 2)
            gone += !bsearch(&wanted, sorted, count, sizeof(*sorted), by_claim);
    }
    free(sorted);
    return gone;
}

size_t small_check(const struct small *small, uint64_t healed_us)
{
    struct history history = {0};
    struct history_findings findings = {.told = stdout};
    struct history_entry *entries = NULL;
    size_t count = 0, grants = 0, counted = 0;
    assert_int_equal(history_read(&history, small->history), 0);
    history_check_order(&history, &findings);
    history_check_exclusion(&history, NULL, 0, &findings);
    history_check_asking(&history, &small->times, &findings);
    history_check_counters(&history, &findings);
    record_read(small->database, &entries, &count);
    history_check_fencing(entries, count, &findings);
    for (size_t i = 0; i < history.count; i++) {
        const struct history_call *call = &history.calls[i];
        grants += history_is_new_grant(call);
        counted += call->kind == HISTORY_COUNT && call->status == 200;
    }
    const struct names names = {SMALL_NAMES, SMALL_TTL_MAX_MS, {small->port, small->port}};
    size_t missing = names_not_granted(&names, &history, healed_us);
    size_t lost = history_lost_updates(entries, count);
    size_t gone = acknowledged_and_gone(&history, entries, count);
    printf("%zu calls, %zu grants, %zu leases compared, %zu entries of the ledger, %zu values of "
           "counters told\n",
           history.count, grants, findings.leases, count, counted);
    printf(
        "tokens granted twice %zu, out of order %zu, overlaps %zu, refused its own %zu, accepted "
        "after a higher one %zu, updates lost %zu, acknowledged by the ledger and gone %zu, names "
        "not granted at the end %zu, values given "
        "twice %zu, told less later %zu\n",
        findings.twice, findings.disorder, findings.overlaps, findings.shut_out, findings.fell,
        lost, gone, missing, findings.values_twice, findings.values_fell);
    assert_true(grants > 0 && findings.leases > 0 && counted > 0);
    free(entries);
    history_fini(&history);
    return history_violations(&findings) + lost + gone + missing;
}

void small_remove(struct small *small)
{
    tempdir_remove(small->dir);
    small->dir = NULL;
}

void small_keep(struct small *small)
{
    char kept[64];
    snprintf(kept, sizeof(kept), "/tmp/pawl-chaos-%d", (int)getpid());
    if (small->dir && rename(small->dir, kept) == 0)
        printf("the history, the databases and all logs are in %s\n", kept);
}
