#include "tests/chaos/faults.h"

#include "tests/chaos/faults_state.h"
#include "tests/chaos/master_settings.h"
#include "tests/chaos/stage.h"
#include "tests/lib/case.h"
#include "tests/lib/clock.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PAUSE_MAX_MS = 120,         /* between two faults */
    BOTH_PAWLDS_PERMILLE = 400, /* share of the faults of links, these are of a master to both */
    CLOCKS_MARGIN_MS = 100,     /* each master takes note of a touched clock within this */
    LOOK_MS = 40,               /* how often it is asked who is back */
    CALM_MS = 500,              /* after it, a pawld sees again what a link or it itself hid */

    /* No tombstone lives longer after the import that made it. */
    TOMBSTONES_MS = STAGE_TTL_MAX_MS + 200,
};

const char *faults_name(unsigned kind)
{
    assert_in_range(kind, 0, FAULT_KINDS - 1);
    return fault_kinds[kind].name;
}

bool faults_is_of_master(unsigned kind)
{
    assert_in_range(kind, 0, FAULT_KINDS - 1);
    return fault_kinds[kind].target == FAULT_OF_MASTER;
}

/* ---- tombstones ------------------------------------------------------------------------------ */

/* Reports whether a majority of masters may have tombstones. An import makes one where it finds two
 * locks of a name. It ends with the longest lease, so only masters that were absent lately have
 * any. */
static bool may_have_tombstones(struct faults *faults, uint64_t now_us)
{
    const unsigned open = absences_open(&faults->absences);
    unsigned recent = 0;
    for (unsigned i = 0; i < STAGE_MASTERS; i++) {
        if (open & 1U << i)
            faults->absent_us[i] = now_us;
        recent += faults->absent_us[i] > 0 &&
                  now_us - faults->absent_us[i] <= (uint64_t)TOMBSTONES_MS * 1000;
    }
    return recent >= STAGE_MAJORITY;
}

static void note_tombstones(struct faults *faults)
{
    const uint64_t now_us = clock_us();
    const bool was_possible = faults->tombstones_possible;
    faults->tombstones_possible = may_have_tombstones(faults, now_us);
    if (faults->tombstones_possible != was_possible)
        fprintf(faults->log, "%" PRIu64 " tombstones %s\n", now_us,
                was_possible ? "impossible" : "possible");
    if (faults->tombstones_possible && !was_possible) {
        const size_t size = (faults->tombstones_count + 1) * sizeof(faults->tombstones[0]);
        faults->tombstones = realloc(faults->tombstones, size);
        assert_non_null(faults->tombstones);
        faults->tombstones[faults->tombstones_count++].from_us = now_us;
    }
    if (faults->tombstones_possible || was_possible)
        faults->tombstones[faults->tombstones_count - 1].till_us = now_us;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

static void open_window(struct faults *faults)
{
    const size_t size = (faults->windows_count + 1) * sizeof(faults->windows[0]);
    faults->windows = realloc(faults->windows, size);
    assert_non_null(faults->windows);
    faults->windows[faults->windows_count++] =
        (struct history_window){clock_us() - (uint64_t)CLOCKS_MARGIN_MS * 1000, UINT64_MAX};
}

static void tell(struct faults *faults, unsigned master, const char *what, const char *kind)
{
    unsigned *next = &faults->told_next[master];
    faults->told[master][*next] = (struct fault_told){clock_us(), what, kind};
    *next = (*next + 1) % FAULTS_TOLD;
}

static void note(struct faults *faults, const char *what, const struct fault *fault)
{
    if (fault->kind->target == FAULT_OF_MASTER || fault->kind->target == FAULT_OF_LINKS)
        tell(faults, fault->victim, what, fault->kind->name);
    fprintf(faults->log, "%" PRIu64 " %s: %s, %u", clock_us(), what, fault->kind->name,
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
            faults->windows[i].till_us = clock_us() + (uint64_t)CLOCKS_MARGIN_MS * 1000;
}

static bool clocks_are_right(const struct faults *faults)
{
    for (unsigned i = 0; i < faults->active; i++)
        if (faults->fault[i].kind->target == FAULT_OF_CLOCK)
            return false;
    return true;
}

static unsigned number_of(const struct fault_kind *kind)
{
    return (unsigned)(kind - fault_kinds);
}

/* The victim is well, so that it says what it was before. */
static void note_absence(struct faults *faults, const struct fault *fault)
{
    if (fault->kind->target != FAULT_OF_MASTER)
        return;
    const uint64_t incarnation =
        chaos_master_incarnation(&faults->stage->master[fault->victim], fault->victim, false);
    absences_begin(&faults->absences, fault->victim, number_of(fault->kind),
                   fault_memory(fault->kind, fault->victim), incarnation, wait_now_ms());
}

static void note_harm(struct faults *faults, struct fault *fault)
{
    if (fault->harmed_ms == 0)
        return;
    absences_harm(&faults->absences, fault->victim, fault->incarnation, fault->harmed_ms);
    fault->harmed_ms = 0;
    note(faults, "harm", fault);
}

static void note_calm(struct faults *faults, const struct fault *fault)
{
    const uint64_t calm_ms = wait_now_ms() + CALM_MS;
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        for (unsigned master = 0; master < STAGE_MASTERS; master++)
            if ((fault->kind->target == FAULT_OF_PAWLD && fault->victim == i) ||
                (fault->kind->target == FAULT_OF_LINKS && fault->pawlds & 1U << i &&
                 (fault->victim == master || fault->also == master)))
                faults->calm_ms[master][i] = calm_ms;
}

static void end_fault(struct faults *faults, unsigned at)
{
    struct fault fault = faults->fault[at];
    faults->fault[at] = faults->fault[--faults->active];
    if (fault.kind->end)
        fault.kind->end(faults->stage, &faults->rng, &fault);
    note_harm(faults, &fault);
    note(faults, fault.gave_up ? "gave up" : "end", &fault);
    faults->figures.gave_up += fault.gave_up;
    note_calm(faults, &fault);
    if (fault.kind->target == FAULT_OF_MASTER)
        absences_end(&faults->absences, fault.victim, wait_now_ms());
    if (fault.kind->target == FAULT_OF_CLOCK && clocks_are_right(faults))
        close_windows(faults);
}

/* Its time is over. */
static void go_on(struct faults *faults, unsigned at)
{
    struct fault *fault = &faults->fault[at];
    const uint32_t again_ms =
        fault->kind->go_on ? fault->kind->go_on(faults->stage, &faults->rng, fault) : 0;
    note_harm(faults, fault);
    if (again_ms == 0)
        end_fault(faults, at);
    else
        fault->until_ms = wait_now_ms() + again_ms;
}

static void begin_fault(struct faults *faults, unsigned number, unsigned victim)
{
    const struct fault_kind *kind = &fault_kinds[number];
    struct fault *fault = &faults->fault[faults->active];
    *fault = (struct fault){
        .kind = kind,
        .victim = victim,
        .also = victim,
        .pawlds = sim_rng_chance(&faults->rng, BOTH_PAWLDS_PERMILLE)
                      ? (1U << STAGE_PAWLDS) - 1
                      : 1U << sim_rng_below(&faults->rng, STAGE_PAWLDS),
        .until_ms = wait_now_ms() + sim_rng_between(&faults->rng, kind->short_ms, kind->long_ms),
    };
    note(faults, "begin", fault);
    note_absence(faults, fault);
    note_tombstones(faults);
    if (kind->target == FAULT_OF_CLOCK)
        open_window(faults);
    kind->begin(faults->stage, &faults->rng, fault);
    faults->active++;
    faults->figures.injected[number]++;
    faults->figures.all++;
}

/* ---- who is back ----------------------------------------------------------------------------- */

/* Reports whether pawld @i sees master @victim as it is: neither the link between them nor the
 * pawld suffers, or did so a moment ago. */
static bool sees(const struct faults *faults, unsigned i, unsigned victim)
{
    if (faults_hurt(faults, FAULT_OF_PAWLD, i) || wait_now_ms() < faults->calm_ms[victim][i])
        return false;
    for (unsigned at = 0; at < faults->active; at++) {
        const struct fault *fault = &faults->fault[at];
        if (fault->kind->target == FAULT_OF_LINKS && fault->pawlds & 1U << i &&
            (fault->victim == victim || fault->also == victim))
            return false;
    }
    return true;
}

static void look_at(struct faults *faults, unsigned victim, const struct stage_sight *sights)
{
    struct absences_sight sight = {.active = true, .disturbed = true};
    for (unsigned i = 0; i < STAGE_PAWLDS; i++) {
        if (!sights[i].answered || !sees(faults, i, victim))
            continue;
        sight.disturbed = false;
        if (sights[i].active & 1U << victim)
            continue;
        sight.active = false;
        sight.reason = sights[i].reason[victim];
    }
    if (!faults_hurt(faults, FAULT_OF_MASTER, victim))
        sight.incarnation = chaos_master_incarnation(&faults->stage->master[victim], victim, true);
    if (!absences_look(&faults->absences, victim, &sight, wait_now_ms()))
        return;
    tell(faults, victim, "back", NULL);
    fprintf(faults->log, "%" PRIu64 " back: master %u\n", clock_us(), victim + 1);
}

static void look_who_is_back(struct faults *faults)
{
    struct stage_sight sights[STAGE_PAWLDS] = {{0}};
    const unsigned open = absences_open(&faults->absences);
    if (open == 0)
        return;
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (!faults_hurt(faults, FAULT_OF_PAWLD, i))
            stage_look(faults->stage, i, &sights[i]);
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        if (open & 1U << i)
            look_at(faults, i, sights);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static FILE *open_log(const struct stage *stage)
{
    char *path = text_make("%s/faults.log", stage->dir);
    FILE *log = fopen(path, "we");
    assert_non_null(log);
    free(path);
    return log;
}

struct faults *faults_new(struct stage *stage, uint64_t seed, uint64_t without)
{
    struct faults *faults = calloc(1, sizeof(*faults));
    assert_non_null(faults);
    faults->stage = stage;
    faults->without = without;
    faults->absences.figures = faults->figures.absent;
    faults->begun_ms = wait_now_ms();
    faults->log = open_log(stage);
    sim_rng_init(&faults->rng, seed, UINT32_MAX); /* no client's stream */
    return faults;
}

void faults_free(struct faults *faults)
{
    fclose(faults->log);
    free(faults->windows);
    free(faults->tombstones);
    free(faults);
}

void faults_step(struct faults *faults)
{
    unsigned kind, victim;
    for (unsigned i = faults->active; i-- > 0;)
        if (wait_now_ms() >= faults->fault[i].until_ms)
            go_on(faults, i);
    note_tombstones(faults);
    if (wait_now_ms() >= faults->look_ms) {
        look_who_is_back(faults);
        faults->look_ms = wait_now_ms() + LOOK_MS;
    }
    if (wait_now_ms() >= faults->next_ms) {
        if (faults_draw(faults, &kind, &victim))
            begin_fault(faults, kind, victim);
        faults->next_ms = wait_now_ms() + sim_rng_below(&faults->rng, PAUSE_MAX_MS);
    }
}

void faults_heal(struct faults *faults)
{
    while (faults->active > 0)
        end_fault(faults, faults->active - 1);
}

const struct faults_figures *faults_figures(struct faults *faults)
{
    faults->figures.taken_back = faults->absences.taken_back;
    faults->figures.mean_s = faults->absences.mean_s;
    faults->figures.slowest_s = faults->absences.slowest_s;
    return &faults->figures;
}

void faults_print_last(const struct faults *faults)
{
    for (unsigned i = 0; i < STAGE_MASTERS; i++) {
        printf("what befell master %u, ms:", i + 1);
        for (unsigned k = 0; k < FAULTS_TOLD; k++) {
            const struct fault_told *told =
                &faults->told[i][(faults->told_next[i] + k) % FAULTS_TOLD];
            if (told->what)
                printf(" %" PRIu64 " %s%s%s,", told->at_us / 1000, told->what,
                       told->kind ? " of " : "", told->kind ? told->kind : "");
        }
        printf(" the run ended\n");
    }
}

struct history_times faults_times(const struct faults *faults)
{
    return (struct history_times){
        .clocks = faults->windows,
        .clocks_count = faults->windows_count,
        .tombstones = faults->tombstones,
        .tombstones_count = faults->tombstones_count,
    };
}
