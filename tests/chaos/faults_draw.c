#include "tests/chaos/fault_acts.h"
#include "tests/chaos/faults_state.h"
#include "tests/chaos/master_settings.h"
#include "tests/chaos/stage.h"
#include "tests/lib/wait.h"

enum {
    MINORITY = STAGE_MASTERS - STAGE_MAJORITY,

    ALL_HURT_PERMILLE = 60,  /* share of the faults of masters, these may reach a majority */
    CLOCKS_PERIOD_MS = 8000, /* clocks are touched in the second half of it only */
    AGAIN_PERMILLE =
        200, /* share of the link faults of a master that forgot: or it is never back */
    RAREST_PERMILLE = 200, /* share of the faults, these are of the kind that happened least */
    TRIES = 4,             /* to find a victim of the fault that was drawn */
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

bool faults_hurt(const struct faults *faults, enum fault_target target, unsigned victim)
{
    for (unsigned i = 0; i < faults->active; i++)
        if (faults->fault[i].kind->target == target && faults->fault[i].victim == victim)
            return true;
    return false;
}

/* ---- what may happen ------------------------------------------------------------------------- */

/* The masters that cannot vote for @pawld now. */
static unsigned hurt_set(const struct faults *faults, unsigned pawld)
{
    unsigned set = absences_out(&faults->absences);
    for (unsigned i = 0; i < faults->active; i++) {
        const struct fault *fault = &faults->fault[i];
        if (fault->kind->target == FAULT_OF_MASTER ||
            (fault->kind->target == FAULT_OF_LINKS && fault->pawlds & 1U << pawld))
            set |= 1U << fault->victim | 1U << fault->also;
    }
    return set;
}

static unsigned count(unsigned set)
{
    return (unsigned)__builtin_popcount(set);
}

/* How many pawld keep a majority if @more are hurt, too. If one does, the other may see other
 * masters: so a grant may stand on few masters, and the next one on others. */
static unsigned keep_majority(const struct faults *faults, unsigned more)
{
    unsigned pawlds = 0;
    for (unsigned pawld = 0; pawld < STAGE_PAWLDS; pawld++)
        pawlds += count(hurt_set(faults, pawld) | more) <= MINORITY;
    return pawlds;
}

/* Reports whether a master is out by a fault that shows @disk. */
static bool is_out_by(const struct faults *faults, enum fault_disk disk)
{
    const unsigned out = absences_out(&faults->absences);
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        if (out & 1U << i && fault_kinds[faults->absences.absence[i].kind].disk == disk)
            return true;
    return false;
}

/* A replaced machine has its own clock, so its clock is left alone. */
static bool in_each_others_way(const struct fault *fault, enum fault_target target)
{
    return fault->kind->target == target ||
           (fault->kind->target == FAULT_OF_CLOCK && target == FAULT_OF_MASTER) ||
           (fault->kind->target == FAULT_OF_MASTER && target == FAULT_OF_CLOCK);
}

static bool has_room(const struct faults *faults, enum fault_target target, unsigned victim)
{
    unsigned suffering = 0;
    if (faults->active == FAULTS_ACTIVE_MAX)
        return false;
    for (unsigned i = 0; i < faults->active; i++) {
        const struct fault *fault = &faults->fault[i];
        if ((fault->victim == victim || fault->also == victim) && in_each_others_way(fault, target))
            return false;
        suffering += fault->kind->target == target;
    }
    return suffering < most_of[target];
}

static bool clocks_are_due(const struct faults *faults)
{
    return (wait_now_ms() - faults->begun_ms) % CLOCKS_PERIOD_MS >= CLOCKS_PERIOD_MS / 2;
}

/* The view of a pawld of a master it knows, as long as it runs, and sees the others. */
static bool hides_from_pawlds(const struct fault_kind *kind)
{
    return kind->target == FAULT_OF_PAWLD || kind->target == FAULT_OF_LINKS;
}

static bool pawlds_see_all(const struct faults *faults)
{
    for (unsigned i = 0; i < faults->active; i++)
        if (hides_from_pawlds(faults->fault[i].kind))
            return false;
    return true;
}

/* Reports whether only its disk keeps what @victim knows. A master that rejoined while its
 * file was rewritten forgets by that, as its marker says. */
static bool is_kept_by_disk(const struct fault_kind *kind, unsigned victim)
{
    return kind->begin == act_kill_master && fault_memory(kind, victim) == ABSENCES_KEPT;
}

/* Reports whether pawlds see enough masters while @kind befalls @victim. */
static bool leaves_enough(struct faults *faults, const struct fault_kind *kind, unsigned victim)
{
    const unsigned bit = 1U << victim;
    const bool two = kind->begin == act_cut_two;
    const unsigned pawlds = keep_majority(faults, two ? bit | 1U << fault_next(victim) : bit);
    if (kind->disk == FAULT_HIDES || is_out_by(faults, FAULT_HIDES))
        return pawlds == STAGE_PAWLDS;
    if (kind->disk == FAULT_OLDER && !pawlds_see_all(faults))
        return false;
    return pawlds > 0 || sim_rng_chance(&faults->rng, ALL_HURT_PERMILLE);
}

/* Reports whether @kind may befall @victim now. */
static bool may_happen(struct faults *faults, const struct fault_kind *kind, unsigned victim)
{
    const unsigned bit = 1U << victim;
    if (!(kind->victims & bit) || !has_room(faults, kind->target, victim))
        return false;
    if (kind->target == FAULT_OF_CLOCK)
        return clocks_are_due(faults);
    if (hides_from_pawlds(kind) && is_out_by(faults, FAULT_OLDER))
        return false;
    if (kind->target != FAULT_OF_MASTER && kind->target != FAULT_OF_LINKS)
        return true;
    /* Two faults that no server saw between may make it forget together what neither does alone: a
     * durable master that restarts, say, and then has its settings weakened. */
    if (kind->target == FAULT_OF_MASTER && absences_open(&faults->absences) & bit)
        return false;
    if (is_kept_by_disk(kind, victim) &&
        !chaos_master_is_marked_durable(&faults->stage->master[victim]))
        return false;
    const unsigned out = absences_out(&faults->absences);
    if (out & bit && !sim_rng_chance(&faults->rng, AGAIN_PERMILLE))
        return false;
    if (fault_memory(kind, victim) != ABSENCES_KEPT && count(out | bit) > MINORITY)
        return false;
    return leaves_enough(faults, kind, victim);
}

static bool is_played(const struct faults *faults, unsigned number)
{
    return !(faults->without >> number & 1);
}

/* The kind that happened least, so that a run of some minutes has shown each. */
static unsigned rarest_kind(const struct faults *faults)
{
    unsigned rarest = 0;
    for (unsigned i = 0; i < FAULT_KINDS; i++)
        if (is_played(faults, i) &&
            (!is_played(faults, rarest) ||
             faults->figures.injected[i] < faults->figures.injected[rarest]))
            rarest = i;
    return rarest;
}

static unsigned draw_kind(struct faults *faults)
{
    uint32_t sum = 0, drawn;
    if (sim_rng_chance(&faults->rng, RAREST_PERMILLE))
        return rarest_kind(faults);
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

bool faults_draw(struct faults *faults, unsigned *ret_kind, unsigned *ret_victim)
{
    const unsigned number = draw_kind(faults);
    const struct fault_kind *kind = &fault_kinds[number];
    if (!is_played(faults, number))
        return false;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        const unsigned victim = sim_rng_below(&faults->rng, victims_of[kind->target]);
        if (!may_happen(faults, kind, victim))
            continue;
        *ret_kind = number;
        *ret_victim = victim;
        return true;
    }
    return false;
}
