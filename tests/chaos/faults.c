#include "tests/chaos/faults.h"

#include "tests/chaos/fault_kinds.h"
#include "tests/chaos/stage.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/sim/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ACTIVE_MAX = 32,
    MINORITY = STAGE_MASTERS - STAGE_MAJORITY,

    PAUSE_MAX_MS = 200,         /* between two faults */
    ALL_HURT_PERMILLE = 60,     /* of the faults of masters, these may reach a majority */
    BOTH_PAWLDS_PERMILLE = 400, /* of the faults of links, these are of a master to both */
    CLOCKS_PERIOD_MS = 8000,    /* clocks are touched in the second half of it only, ... */
    CLOCKS_MARGIN_MS = 100,     /* ... which each master takes note of within this */
    LOOK_MS = 200,              /* how often it is asked who is back */
    AGAIN_PERMILLE = 200, /* of the faults of a master that forgot: or it would never be back */
    TRIES = 4,            /* to find a victim of the fault that was drawn */
};

/* Of a master that forgot: whether it is known to have been taken back. One that lost nothing over
 * a restart is none: what it remembers counts, whoever else fails meanwhile. */
struct outage {
    bool out;
    uint64_t since_ms; /* it is up since then, as empty as it was made */
};

struct faults {
    struct stage *stage;
    struct sim_rng rng;
    uint32_t without;
    bool forgetting;
    uint64_t begun_ms;
    uint64_t next_ms; /* the next fault */
    uint64_t look_ms;
    unsigned active;
    struct fault fault[ACTIVE_MAX];
    struct outage outage[STAGE_MASTERS];
    struct faults_figures figures;
    struct history_window *windows;
    size_t windows_count;
    FILE *log; /* in the folder of the run: what was done, and when */
};

/* How many there are of each target. */
static const unsigned victims_of[] = {
    [FAULT_OF_MASTER] = STAGE_MASTERS, [FAULT_OF_LINKS] = STAGE_MASTERS,
    [FAULT_OF_CLOCK] = STAGE_MASTERS,  [FAULT_OF_PAWLD] = STAGE_PAWLDS,
    [FAULT_OF_DOOR] = STAGE_PAWLDS,    [FAULT_OF_CLIENT] = STAGE_CLIENTS,
};

/* How many of a target may suffer at a time. */
static const unsigned most_of[] = {
    [FAULT_OF_MASTER] = STAGE_MASTERS,
    [FAULT_OF_LINKS] = STAGE_MASTERS,
    [FAULT_OF_CLOCK] = 2,
    [FAULT_OF_PAWLD] = 1,
    [FAULT_OF_DOOR] = 1,
    [FAULT_OF_CLIENT] = 3,
};

const char *faults_name(unsigned kind)
{
    assert_in_range(kind, 0, FAULT_KINDS - 1);
    return fault_kinds[kind].name;
}

/* ---- what may happen ------------------------------------------------------------------------- */

static unsigned out_set(const struct faults *faults)
{
    unsigned set = 0;
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        set |= faults->outage[i].out ? 1U << i : 0;
    return set;
}

/* The masters that cannot vote for both pawld now. */
static unsigned hurt_set(const struct faults *faults)
{
    unsigned set = out_set(faults);
    for (unsigned i = 0; i < faults->active; i++) {
        const enum fault_target target = faults->fault[i].kind->target;
        if (target == FAULT_OF_MASTER || target == FAULT_OF_LINKS)
            set |= 1U << faults->fault[i].victim;
    }
    return set;
}

static unsigned count(unsigned set)
{
    return (unsigned)__builtin_popcount(set);
}

/* A replaced machine has a clock of its own, so its clock is left alone. */
static bool in_each_others_way(const struct fault *fault, enum fault_target target)
{
    return fault->kind->target == target ||
           (fault->kind->target == FAULT_OF_CLOCK && target == FAULT_OF_MASTER) ||
           (fault->kind->target == FAULT_OF_MASTER && target == FAULT_OF_CLOCK);
}

static bool has_room(const struct faults *faults, enum fault_target target, unsigned victim)
{
    unsigned suffering = 0;
    if (faults->active == ACTIVE_MAX)
        return false;
    for (unsigned i = 0; i < faults->active; i++) {
        const struct fault *fault = &faults->fault[i];
        if (fault->victim == victim && in_each_others_way(fault, target))
            return false;
        suffering += fault->kind->target == target;
    }
    return suffering < most_of[target];
}

static bool clocks_are_due(const struct faults *faults)
{
    return (wait_now_ms() - faults->begun_ms) % CLOCKS_PERIOD_MS >= CLOCKS_PERIOD_MS / 2;
}

static bool puts_out(const struct fault_kind *kind, unsigned victim)
{
    return kind->forgets >> victim & 1;
}

/* Whether @kind may befall @victim now. */
static bool may_happen(struct faults *faults, const struct fault_kind *kind, unsigned victim)
{
    const unsigned bit = 1U << victim;
    if (!(kind->victims & bit) || !has_room(faults, kind->target, victim))
        return false;
    if (kind->target == FAULT_OF_CLOCK)
        return clocks_are_due(faults);
    if (kind->target != FAULT_OF_MASTER && kind->target != FAULT_OF_LINKS)
        return true;
    if (faults->outage[victim].out && !sim_rng_chance(&faults->rng, AGAIN_PERMILLE))
        return false;
    if (puts_out(kind, victim))
        return faults->forgetting && count(out_set(faults) | bit) <= MINORITY &&
               count(hurt_set(faults) | bit) <= MINORITY;
    return count(hurt_set(faults) | bit) <= MINORITY ||
           sim_rng_chance(&faults->rng, ALL_HURT_PERMILLE);
}

static unsigned draw_kind(struct faults *faults)
{
    uint32_t sum = 0, drawn;
    for (unsigned i = 0; i < FAULT_KINDS; i++)
        sum += fault_kinds[i].weight;
    drawn = sim_rng_below(&faults->rng, sum);
    for (unsigned i = 0; i < FAULT_KINDS; i++) {
        if (drawn < fault_kinds[i].weight)
            return i;
        drawn -= fault_kinds[i].weight;
    }
    return 0;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void open_window(struct faults *faults)
{
    const size_t size = (faults->windows_count + 1) * sizeof(faults->windows[0]);
    faults->windows = realloc(faults->windows, size);
    assert_non_null(faults->windows);
    faults->windows[faults->windows_count++] =
        (struct history_window){now_us() - (uint64_t)CLOCKS_MARGIN_MS * 1000, UINT64_MAX};
}

static void note(struct faults *faults, const char *what, const struct fault *fault)
{
    fprintf(faults->log, "%" PRIu64 " %s: %s, %u", now_us(), what, fault->kind->name,
            fault->victim + 1);
    if (fault->kind->target == FAULT_OF_LINKS)
        fprintf(faults->log, ", set of pawld %u", fault->pawlds);
    fputc('\n', faults->log);
    fflush(faults->log);
}

/* Two clocks may be touched at a time; it is enough that their windows cover it all. */
static void close_windows(struct faults *faults)
{
    for (size_t i = faults->windows_count; i-- > 0;)
        if (faults->windows[i].till_us == UINT64_MAX)
            faults->windows[i].till_us = now_us() + (uint64_t)CLOCKS_MARGIN_MS * 1000;
}

static bool clocks_are_right(const struct faults *faults)
{
    for (unsigned i = 0; i < faults->active; i++)
        if (faults->fault[i].kind->target == FAULT_OF_CLOCK)
            return false;
    return true;
}

static void note_outage(struct faults *faults, const struct fault *fault)
{
    if (!puts_out(fault->kind, fault->victim))
        return;
    struct outage *outage = &faults->outage[fault->victim];
    outage->out = true;
    outage->since_ms = wait_now_ms();
}

static void end_fault(struct faults *faults, unsigned at)
{
    struct fault fault = faults->fault[at];
    faults->fault[at] = faults->fault[--faults->active];
    if (fault.kind->end)
        fault.kind->end(faults->stage, &faults->rng, &fault);
    note(faults, "end", &fault);
    note_outage(faults, &fault); /* again: from here on it can be taken back */
    if (fault.kind->target == FAULT_OF_CLOCK && clocks_are_right(faults))
        close_windows(faults);
}

static void begin_fault(struct faults *faults, unsigned number, unsigned victim)
{
    const struct fault_kind *kind = &fault_kinds[number];
    struct fault *fault = &faults->fault[faults->active];
    *fault = (struct fault){
        .kind = kind,
        .victim = victim,
        .pawlds = sim_rng_chance(&faults->rng, BOTH_PAWLDS_PERMILLE)
                      ? (1U << STAGE_PAWLDS) - 1
                      : 1U << sim_rng_below(&faults->rng, STAGE_PAWLDS),
        .until_ms = wait_now_ms() + sim_rng_between(&faults->rng, kind->short_ms, kind->long_ms),
    };
    note(faults, "begin", fault);
    note_outage(faults, fault);
    if (kind->target == FAULT_OF_CLOCK)
        open_window(faults);
    kind->begin(faults->stage, &faults->rng, fault);
    faults->active++;
    faults->figures.injected[number]++;
    faults->figures.all++;
}

/* Where what was drawn may not happen nothing does, so that how often each does stays as weighted.
 */
static void begin_some(struct faults *faults)
{
    const unsigned number = draw_kind(faults);
    const struct fault_kind *kind = &fault_kinds[number];
    if (faults->without & 1U << number)
        return;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        const unsigned victim = sim_rng_below(&faults->rng, victims_of[kind->target]);
        if (!may_happen(faults, kind, victim))
            continue;
        begin_fault(faults, number, victim);
        return;
    }
}

/* ---- who is back ----------------------------------------------------------------------------- */

static bool is_hurt(const struct faults *faults, enum fault_target target, unsigned victim)
{
    for (unsigned i = 0; i < faults->active; i++)
        if (faults->fault[i].kind->target == target && faults->fault[i].victim == victim)
            return true;
    return false;
}

static void note_back(struct faults_figures *figures, double took_s)
{
    figures->taken_back++;
    figures->mean_s += (took_s - figures->mean_s) / (double)figures->taken_back;
    if (took_s > figures->slowest_s)
        figures->slowest_s = took_s;
}

/* It is back where every pawld that can speak says so, and after the wait that it must have taken:
 * one that did not notice yet shows it as it was. */
static void look_who_is_back(struct faults *faults)
{
    unsigned active = ~0U;
    if (out_set(faults) == 0)
        return;
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (!is_hurt(faults, FAULT_OF_PAWLD, i))
            active &= stage_active(faults->stage, i);
    for (unsigned i = 0; i < STAGE_MASTERS; i++) {
        struct outage *outage = &faults->outage[i];
        const uint64_t took_ms = wait_now_ms() - outage->since_ms;
        if (!outage->out || !(active & 1U << i) || took_ms < STAGE_TTL_MAX_MS ||
            is_hurt(faults, FAULT_OF_MASTER, i))
            continue;
        outage->out = false;
        fprintf(faults->log, "%" PRIu64 " back: master %u\n", now_us(), i + 1);
        note_back(&faults->figures, (double)took_ms / 1e3);
    }
}

/* ---- the calls ------------------------------------------------------------------------------- */

static FILE *open_log(const struct stage *stage)
{
    char *path = NULL;
    if (asprintf(&path, "%s/faults.log", stage->dir) < 0)
        fail_msg("out of memory");
    FILE *log = fopen(path, "we");
    assert_non_null(log);
    free(path);
    return log;
}

struct faults *faults_new(struct stage *stage, uint64_t seed, uint32_t without, bool forgetting)
{
    struct faults *faults = calloc(1, sizeof(*faults));
    assert_non_null(faults);
    faults->stage = stage;
    faults->without = without;
    faults->forgetting = forgetting;
    faults->begun_ms = wait_now_ms();
    faults->log = open_log(stage);
    sim_rng_init(&faults->rng, seed, UINT32_MAX); /* no client's stream */
    return faults;
}

void faults_free(struct faults *faults)
{
    fclose(faults->log);
    free(faults->windows);
    free(faults);
}

void faults_step(struct faults *faults)
{
    for (unsigned i = faults->active; i-- > 0;)
        if (wait_now_ms() >= faults->fault[i].until_ms)
            end_fault(faults, i);
    if (wait_now_ms() >= faults->look_ms) {
        look_who_is_back(faults);
        faults->look_ms = wait_now_ms() + LOOK_MS;
    }
    if (wait_now_ms() >= faults->next_ms) {
        begin_some(faults);
        faults->next_ms = wait_now_ms() + sim_rng_below(&faults->rng, PAUSE_MAX_MS);
    }
}

void faults_heal(struct faults *faults)
{
    while (faults->active > 0)
        end_fault(faults, faults->active - 1);
}

const struct faults_figures *faults_figures(const struct faults *faults)
{
    return &faults->figures;
}

const struct history_window *faults_windows(const struct faults *faults, size_t *ret_count)
{
    *ret_count = faults->windows_count;
    return faults->windows;
}
