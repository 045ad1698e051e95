#include "tests/chaos/run.h"

#include "tests/chaos/names.h"
#include "tests/chaos/record.h"
#include "tests/chaos/stage.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    STEP_MS = 10,
    HEAL_TIMEOUT_MS = 60000, /* for all masters to vote again */
    SECOND_US = 1000000,
};

volatile sig_atomic_t run_interrupted;

static void exit_if_interrupted(void)
{
    if (run_interrupted)
        exit(128 + run_interrupted); /* as a shell says it */
}

/* ---- with all running ------------------------------------------------------------------------ */

static void expect_all_running(const struct stage *stage)
{
    const char *fallen = stage_fallen(stage);
    if (!fallen)
        return;
    char kept[64];
    snprintf(kept, sizeof(kept), "/tmp/pawl-chaos-%d", (int)getpid());
    (void)!rename(stage->dir, kept);
    fail_msg("%s ended by itself; see the logs in %s", fallen, kept);
}

static void hurt(struct stage *stage, struct faults *faults, unsigned seconds)
{
    const uint64_t end_ms = wait_now_ms() + (uint64_t)seconds * 1000;
    while (wait_now_ms() < end_ms) {
        exit_if_interrupted();
        expect_all_running(stage);
        faults_step(faults);
        wait_ms(STEP_MS);
    }
    faults_heal(faults);
}

static bool all_active(void *arg)
{
    const struct stage *stage = arg;
    exit_if_interrupted();
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (stage_active(stage, i) != (1U << STAGE_MASTERS) - 1)
            return false;
    return true;
}

/* Waits until all is as before. Returns how many masters are not. */
static size_t expect_healed(struct stage *stage, struct run_result *result)
{
    const uint64_t healed_ms = wait_now_ms();
    if (wait_until(all_active, stage, HEAL_TIMEOUT_MS)) {
        result->healed_s = (double)(wait_now_ms() - healed_ms) / 1e3;
        return 0;
    }
    size_t missing = 0;
    for (unsigned i = 0; i < STAGE_PAWLDS; i++) {
        const unsigned active = stage_active(stage, i);
        printf("not healed after %d s: ", HEAL_TIMEOUT_MS / 1000);
        stage_print_masters(stage, i);
        missing += STAGE_MASTERS - (unsigned)__builtin_popcount(active);
    }
    return missing;
}

/* ---- the history ----------------------------------------------------------------------------- */

static void count_grant(struct run_result *result, const struct history_call *call)
{
    const bool is_new = history_is_new_grant(call);
    result->grants += is_new;
    result->grants_own += is_new && call->ask != HISTORY_PLAIN;
    result->grants_retried += call->ask == HISTORY_RETRY;
    result->grants_found += call->ask == HISTORY_RETRY && call->status == 200;
    result->grants_repeated += !is_new;
    result->grants_grouped += is_new && call->names > 1;
}

static void count_acquire(struct run_result *result, const struct history_call *call)
{
    if (history_is_grant(call))
        count_grant(result, call);
    result->held += call->status == 409;
    result->unavailable += call->status == 503 || call->status == 429;
    result->unanswered += call->status == 0;
}

static void count_calls(const struct history *history, struct run_result *result)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct history_call *call = &history->calls[i];
        switch (call->kind) {
        case HISTORY_ACQUIRE:
            count_acquire(result, call);
            break;
        case HISTORY_EXTEND:
            result->extended += call->status == 200;
            result->anew += call->status == 201;
            result->lost += call->status == 409;
            break;
        case HISTORY_RELEASE:
            result->released += call->status == 200;
            break;
        case HISTORY_CLAIM:
        case HISTORY_WRITE:
            result->stale += call->status == 412;
            break;
        case HISTORY_COUNT:
            result->counted += call->status == 200 && call->names > 0;
            result->counters_read += call->status == 200 && call->names == 0;
            break;
        case HISTORY_LEAVE:
        case HISTORY_KINDS:
            break;
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How steadily grants came from @from_us to @till_us. */
static void measure_grants(const struct history *history, uint64_t from_us, uint64_t till_us,
                           struct run_result *result)
{
    const size_t seconds = (till_us - from_us) / SECOND_US;
    size_t *in_second = calloc(seconds + 1, sizeof(*in_second));
    uint64_t *times = calloc(history->count + 2, sizeof(*times));
    assert_non_null(in_second);
    assert_non_null(times);
    uint64_t longest_us = 0;
    size_t count = 0;
    times[count++] = from_us;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_call *call = &history->calls[i];
        if (!history_is_new_grant(call) || call->answered_us < from_us ||
            call->answered_us >= till_us)
            continue;
        times[count++] = call->answered_us;
        in_second[(call->answered_us - from_us) / SECOND_US]++;
    }
    times[count++] = till_us;
    qsort(times, count, sizeof(*times), by_time);
    for (size_t i = 1; i < count; i++)
        if (times[i] - times[i - 1] > longest_us)
            longest_us = times[i] - times[i - 1];
    result->longest_gap_s = (double)longest_us / SECOND_US;
    result->grants_a_second = seconds > 0 ? (count - 2) / seconds : 0;
    result->worst_second = seconds > 0 ? in_second[0] : 0;
    for (size_t i = 1; i < seconds; i++)
        if (in_second[i] < result->worst_second)
            result->worst_second = in_second[i];
    free(in_second);
    free(times);
}

static size_t expect_grants_after(const struct stage *stage, const struct history *history,
                                  uint64_t healed_us)
{
    const struct names names = {
        .count = STAGE_NAMES,
        .ttl_max_ms = STAGE_TTL_MAX_MS,
        .port = {stage->pawld[0].port, stage->pawld[1].port},
    };
    return names_not_granted(&names, history, healed_us);
}

static void check_calls(const struct stage *stage, const struct faults *faults,
                        struct history *history, struct run_result *result)
{
    const struct history_times times = faults_times(faults);
    char *path = stage_history_path(stage);
    const size_t unreadable = history_read(history, path);
    free(path);
    if (unreadable > 0)
        fail_msg("%zu lines of the history cannot be read", unreadable);
    history_check_order(history, &result->findings);
    history_check_exclusion(history, times.clocks, times.clocks_count, &result->findings);
    history_check_asking(history, &times, &result->findings);
    history_check_counters(history, &result->findings);
    count_calls(history, result);
}

static void check_record(const struct stage *stage, bool guarded, struct run_result *result)
{
    struct history_entry *entries = NULL;
    size_t count = 0;
    char *path = stage_database_path(stage);
    record_read(path, &entries, &count);
    if (guarded)
        history_check_fencing(entries, count, &result->findings);
    result->updates_lost = history_lost_updates(entries, count);
    for (size_t i = 0; i < count; i++)
        result->written += entries[i].version > 0;
    free(entries);
    free(path);
}

/* ---- a run ----------------------------------------------------------------------------------- */

size_t run_violations(const struct run_config *config, const struct run_result *result)
{
    return history_violations(&result->findings) + result->unhealed +
           (config->guarded && result->updates_lost > 0);
}

static void keep_files(struct stage *stage)
{
    char kept[64];
    snprintf(kept, sizeof(kept), "/tmp/pawl-chaos-%d", (int)getpid());
    if (rename(stage->dir, kept) == 0)
        printf("the history, the database and all logs are in %s\n", kept);
}

void run_play(const struct run_config *config, struct run_result *ret_result)
{
    struct run_result result = {.findings.told = stdout};
    struct history history = {0};
    struct stage *stage = stage_new(config->guarded, config->seed, config->traced != NULL);
    struct faults *faults = faults_new(stage, config->seed, config->without);

    const uint64_t begun_us = wait_now_ms() * 1000;
    hurt(stage, faults, config->seconds);
    const uint64_t ended_us = wait_now_ms() * 1000;
    result.unhealed = expect_healed(stage, &result);
    const uint64_t healed_us = wait_now_ms() * 1000;
    wait_ms(NAMES_WATCHED_MS);
    expect_all_running(stage);
    stage_end_clients(stage);

    check_calls(stage, faults, &history, &result);
    check_record(stage, config->guarded, &result);
    measure_grants(&history, begun_us, ended_us, &result);
    result.unhealed += expect_grants_after(stage, &history, healed_us);
    result.faults = *faults_figures(faults);
    if (result.unhealed > 0)
        faults_print_last(faults);
    if (config->traced && rename(stage->dir, config->traced) != 0)
        fail_msg("the traces cannot be moved to %s", config->traced);
    if (run_violations(config, &result) > 0 && !config->traced)
        keep_files(stage);
    history_fini(&history);
    faults_free(faults);
    stage_free(stage);
    *ret_result = result;
}
