/* A fleet whose majority lost its memory goes on, above a floor.
 *
 * Why tokens cannot go back through it: once all masters are claimed, nothing is granted any more.
 * A token that was granted before is one that a guard saw, and then no higher than the operator's
 * T; or one that a survivor's counter shows; or one of fewer than STORAGE_FLOOR_MARGIN that both
 * missed. The floor is above all three. */
#include "fence/protocol/lease.h"
#include "storage/redis/init_steps.h"
#include "storage/redis/keys.h"

#include <string.h>

/* An incarnation counts how often its member was admitted. The last times may be known only to
 * masters that forgot, so that all of them go up by more than can have been missed. */
#define INCARNATIONS_MISSED (INT64_C(1) << (12 + FENCE_INCARNATION_RANDOM_BITS))

struct run {
    struct storage_init_session session;
    const struct storage_redis_floor *asked;
    unsigned survivors;
    struct storage_init_marker marker; /* what they know */
    int64_t floor;                     /* that the fleet goes on above */
};

/* ---- who survived ---------------------------------------------------------------------------- */

/* A server that runs knows the fleet by its id and its longest lease: both stay what they were. */
static int take_up(struct run *run, unsigned i)
{
    const struct fence_facts *facts = &run->session.seen[i];
    struct storage_init_marker *marker = &run->marker;
    if (facts->member != i + 1)
        return storage_init_fail_at(
            &run->session, i, FENCE_ECONFLICT,
            "it is member %u of its fleet. Give the --master addresses in the order that the fleet "
            "was made with",
            (unsigned)facts->member);
    if (run->survivors > 0 && strcmp(marker->fleet_id, facts->fleet_id) != 0)
        return storage_init_fail_at(
            &run->session, i, FENCE_ECONFLICT,
            "it belongs to the fleet %s, and a master before it to %s. Check the --master "
            "addresses; if you are certain that no token of one of the two matters any more, "
            "delete the key " STORAGE_FLEET_KEY " on its masters",
            facts->fleet_id, marker->fleet_id);
    if (marker->ttl_max_ms != 0 && marker->ttl_max_ms != facts->ttl_max_ms)
        return storage_init_fail_at(
            &run->session, i, FENCE_ECONFLICT,
            "the longest lease of its fleet is %u ms, not %u ms. Leave --max-ttl-ms out: a fleet "
            "goes on with its own",
            (unsigned)facts->ttl_max_ms, (unsigned)marker->ttl_max_ms);
    memcpy(marker->fleet_id, facts->fleet_id, sizeof(marker->fleet_id));
    marker->ttl_max_ms = facts->ttl_max_ms;
    (void)fence_view_merge(&marker->view, &facts->view, run->session.init->n);
    run->survivors++;
    return 0;
}

static int gather(struct run *run)
{
    struct storage_init_marker *marker = &run->marker;
    marker->ttl_max_ms = run->session.init->ttl_max_ms;
    for (unsigned i = 0; i < run->session.init->n; i++) {
        int error = storage_init_blank(&run->session, i) ? 0 : take_up(run, i);
        if (error)
            return error;
    }
    if (run->survivors == 0)
        storage_init_draw_fleet_id(marker->fleet_id);
    if (marker->ttl_max_ms == 0)
        marker->ttl_max_ms = FENCE_TTL_MAX_DEFAULT_MS;
    return 0;
}

/* A server would take these masters as they are, or once they named their new run. */
static unsigned count_who_remember(const struct run *run)
{
    struct fence_fleet fleet;
    storage_init_meet(&run->session, &fleet);
    memcpy(fleet.fleet_id, run->marker.fleet_id, sizeof(fleet.fleet_id));
    fleet.ttl_max_ms = run->marker.ttl_max_ms;
    fleet.view = run->marker.view;
    unsigned count = 0;
    for (unsigned i = 0; i < fleet.n; i++) {
        enum fence_reason reason = fence_fleet_judge(&fleet, i);
        count += reason == FENCE_REASON_NONE || reason == FENCE_REASON_RESTARTED;
    }
    return count;
}

static int refuse_if_nothing_is_lost(struct run *run)
{
    unsigned n = run->session.init->n;
    unsigned count = count_who_remember(run);
    if (count < fence_majority(n))
        return 0;
    return storage_init_fail(
        &run->session, FENCE_ECONFLICT,
        "nothing was lost: %u of %u masters remember all they voted for, and that is a majority. "
        "Run pawld as ever; it takes the others back by itself, and GET /v1/fleet says how far it "
        "is",
        count, n);
}

/* ---- what they go on as ---------------------------------------------------------------------- */

static int set_view(struct run *run)
{
    unsigned n = run->session.init->n;
    struct fence_view before = run->marker.view;
    for (unsigned i = 0; i < n; i++) {
        if (before.incarnation[i] > FENCE_TOKEN_MAX - 2 * INCARNATIONS_MISSED)
            return storage_init_fail(&run->session, FENCE_ECONFLICT,
                                     "a marker names the incarnation %lld of master %u, which "
                                     "leaves no room for higher ones. Pawl did not write that: "
                                     "find out who did",
                                     (long long)before.incarnation[i], i + 1);
        before.incarnation[i] += INCARNATIONS_MISSED;
    }
    storage_init_draw_view(&before, n, &run->marker.admitted);
    return 0;
}

static int set_floor(struct run *run, int64_t highest)
{
    int64_t seen = run->asked->seen > highest ? run->asked->seen : highest;
    if (seen < 0 || seen > STORAGE_FLOOR_SEEN_MAX)
        return storage_init_fail(&run->session, FENCE_ECONFLICT,
                                 "no floor fits above %lld: too few tokens are left below 2^53. "
                                 "Make a new fleet of blank masters, for resources of other names",
                                 (long long)seen);
    run->floor = seen + STORAGE_FLOOR_MARGIN;
    return 0;
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* Whoever held a lock may still count on it, though nobody remembers it. */
static int hold(struct run *run)
{
    uint64_t hold_ms = (fence_quarantine_us(run->marker.ttl_max_ms) + 999) / 1000;
    if (run->asked->holds)
        run->asked->holds(run->asked->context, hold_ms);
    return storage_init_hold(&run->session, hold_ms);
}

static int claim_read_and_hold(struct run *run)
{
    int64_t highest = 0;
    int error = storage_init_claim(&run->session, &run->marker);
    if (!error)
        error = storage_init_wipe(&run->session);
    if (!error)
        error = storage_init_read(&run->session, &highest);
    if (!error)
        error = set_floor(run, highest);
    if (!error)
        error = hold(run);
    if (error)
        storage_init_advise(&run->session, ". Nothing is granted meanwhile: when it is mended, run "
                                           "this again with the same T");
    return error;
}

static int admit(struct run *run)
{
    unsigned n = run->session.init->n;
    unsigned admitted = 0;
    int error = storage_init_admit(&run->session, &run->marker, run->floor, &admitted);
    if (error && admitted >= fence_majority(n))
        storage_init_advise(&run->session,
                            ". The others are a majority and go on above %lld: pawld "
                            "takes this one back by itself. Do not run init again",
                            (long long)run->floor);
    else if (error)
        storage_init_advise(&run->session, ". When it is mended, run this again with the same T");
    return error;
}

int storage_redis_init_floor(const struct storage_redis_init *init,
                             const struct storage_redis_floor *floor,
                             struct storage_redis_floored *ret_floored,
                             char ret_why[static STORAGE_WHY_MAX])
{
    struct run run = {.asked = floor, .marker = {.has_past = true}};
    int error = storage_init_begin(&run.session, init, ret_why);
    if (!error)
        error = set_floor(&run, 0); /* T alone may be too high */
    if (!error)
        error = storage_init_look(&run.session);
    if (!error)
        error = gather(&run);
    if (!error)
        error = refuse_if_nothing_is_lost(&run);
    if (!error)
        error = set_view(&run);
    if (!error)
        error = claim_read_and_hold(&run);
    if (!error)
        error = admit(&run);
    storage_init_fini(&run.session);
    if (error)
        return error;
    *ret_floored = (struct storage_redis_floored){
        .ttl_max_ms = run.marker.ttl_max_ms,
        .floor = run.floor,
        .survivors = run.survivors,
    };
    memcpy(ret_floored->fleet_id, run.marker.fleet_id, sizeof(ret_floored->fleet_id));
    return 0;
}
