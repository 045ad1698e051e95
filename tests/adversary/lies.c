#include "tests/adversary/lies.h"

#include "tests/adversary/play.h"

#include <stdio.h>
#include <string.h>

enum {
    VERSION_GOOD = 70015,
    VERSION_OLD = 60000,
    TTL_MAX_MS = 5000, /* of the fleet; CALLS_TTL_MAX_MS lies above it */
    TTL_MAX_OTHER_MS = 1000,

    RUNS = 2,     /* run ids that a master may have: one more would hardly ever be met again */
    MACHINES = 4, /* that incarnations are made of */
    TURNS = 3,
    TURN_LAST = (1 << FENCE_INCARNATION_TURN_BITS) - 1,
    RANDOM_PARTS = 2, /* of incarnations */
    NONCES = 5,       /* of this server's own */
    NUMBERS = 3,      /* counted; few, so that they meet */
    CURSORS = 3,      /* 0, the end, among them */
    LEASE_MS = 4000,
};

/* How often, per mille. Those of SERVER and MARKER never where the play is honest. */
enum {
    SERVER_WRONG = 17, /* for each thing that can be wrong with a server */
    SERVER_TWIN = 4,   /* it is another master's too */
    MARKER_MISSING = 80,
    MARKER_OTHER = 30, /* for each thing that can be another's */
    MARKER_RUN_OTHER = 500,
    MARKER_JOINING = 160,
    REPLY_REFUSED = 20,
    REPLY_STALE = 20,
    REJOIN_CHANGED = 170,
    REJOIN_ERROR = 80,

    DURABLE = 750,
    NONCE = 330,
    NEXT = 250,
    INCARNATION_LAST = 20,
    INCARNATION_LAST_TURN = 17,
    VIEW_AS_BELIEVED = 667,
    TAKEN = 750,
    FOUND = 170,
    NUMBER_HIGHER = 170, /* than those beside it, in a group */
    NUMBER_LAST = 2,     /* no token could follow */
    OFTEN = 667,
    HALF = 500,
    RARELY = 125,
};

static bool chance(struct play *play, uint32_t permille)
{
    return sim_rng_chance(&play->rng, permille);
}

static uint32_t below(struct play *play, uint32_t bound)
{
    return sim_rng_below(&play->rng, bound);
}

static bool wrong(struct play *play, uint32_t permille)
{
    return !play->honest && chance(play, permille);
}

void lies_init(struct lies *lies)
{
    memset(lies, 0, sizeof(*lies));
}

/* ---- views ----------------------------------------------------------------------------------- */

static int64_t incarnation(struct play *play)
{
    if (chance(play, INCARNATION_LAST))
        return FENCE_INCARNATION_MAX - below(play, 2);
    int64_t machine = below(play, MACHINES);
    int64_t random = below(play, RANDOM_PARTS);
    int64_t turn = chance(play, INCARNATION_LAST_TURN) ? TURN_LAST : below(play, TURNS);
    return machine << FENCE_INCARNATION_MACHINE_SHIFT | random << FENCE_INCARNATION_TURN_BITS |
           turn;
}

static struct fence_view view(struct play *play)
{
    struct fence_view made = fence_core_fleet(play->core)->view;
    if (chance(play, VIEW_AS_BELIEVED)) {
        if (chance(play, HALF))
            made.incarnation[below(play, play->masters)] = incarnation(play);
        return made;
    }
    for (unsigned i = 0; i < play->masters; i++)
        made.incarnation[i] = incarnation(play);
    return made;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void run_id(struct play *play, unsigned i, char ret_id[static FENCE_ID_HEX_LEN + 1])
{
    unsigned run = play->honest ? 0 : below(play, RUNS);
    snprintf(ret_id, FENCE_ID_HEX_LEN + 1, "run-%u-of-master-%u", run, i);
}

static uint64_t nonce(struct play *play)
{
    if (!chance(play, NONCE))
        return 0;
    uint64_t leader = fence_core_fleet(play->core)->leader;
    bool own = chance(play, OFTEN);
    return own ? leader << 32 | below(play, NONCES) : sim_rng_next(&play->rng) | 1;
}

static void mark(struct play *play, unsigned i, struct fence_facts *facts)
{
    const char *fleet = wrong(play, MARKER_OTHER) ? "another-fleet" : "the-fleet";
    facts->marked = true;
    snprintf(facts->fleet_id, sizeof(facts->fleet_id), "%s", fleet);
    facts->member = wrong(play, MARKER_OTHER) ? below(play, play->masters) + 1 : i + 1;
    if (wrong(play, MARKER_RUN_OTHER))
        run_id(play, i, facts->marked_run_id);
    else
        memcpy(facts->marked_run_id, facts->run_id, sizeof(facts->run_id));
    facts->marked_durable = chance(play, DURABLE);
    facts->marked_active = !wrong(play, MARKER_JOINING);
    facts->nonce = nonce(play);
    facts->next = chance(play, NEXT) ? incarnation(play) : 0;
    facts->progress = below(play, CURSORS);
    facts->ttl_max_ms = wrong(play, MARKER_OTHER) ? TTL_MAX_OTHER_MS : TTL_MAX_MS;
    facts->view = play->honest ? fence_core_fleet(play->core)->view : view(play);
}

void lies_facts(struct play *play, unsigned i, struct fence_facts *ret_facts)
{
    *ret_facts = (struct fence_facts){
        .version = wrong(play, SERVER_WRONG) ? VERSION_OLD : VERSION_GOOD,
        .replica = wrong(play, SERVER_WRONG),
        .promoted = wrong(play, SERVER_WRONG),
        .cluster = wrong(play, SERVER_WRONG),
        .durable = chance(play, DURABLE),
        .persistence = "always",
    };
    run_id(play, wrong(play, SERVER_TWIN) ? 0 : i, ret_facts->run_id);
    if (!wrong(play, MARKER_MISSING))
        mark(play, i, ret_facts);
}

/* ---- replies --------------------------------------------------------------------------------- */

static void held(struct play *play, const struct link_request *request, struct fence_reply *reply)
{
    reply->kind = FENCE_REPLY_HELD;
    reply->holder = calls_some_lock_id(play);
    reply->owner = "somebody";
    reply->remaining_ms = below(play, LEASE_MS);
    reply->member = below(play, request->group);
}

static void taken(struct play *play, const struct link_request *request, struct fence_reply *reply)
{
    int64_t *numbers = play->lies.numbers;
    int64_t number = chance(play, NUMBER_LAST) ? FENCE_TOKEN_MAX - 1 : below(play, NUMBERS) + 1;
    for (unsigned k = 0; k < FENCE_GROUP_MAX; k++)
        numbers[k] = number + chance(play, NUMBER_HIGHER);
    reply->kind = FENCE_REPLY_NUMBER;
    reply->number = numbers[0];
    reply->numbers = request->group ? numbers : NULL;
    reply->found = chance(play, FOUND);
    /* Of a group, a part may have been found, and the whole not. */
    if (reply->found || (request->group && chance(play, RARELY)))
        reply->remaining_ms = below(play, LEASE_MS) + 1;
}

static void inspected(struct play *play, const struct link_request *request,
                      struct fence_reply *reply)
{
    reply->kind = FENCE_REPLY_NO;
    if (chance(play, HALF)) {
        held(play, request, reply);
        reply->number = below(play, NUMBERS) + 1;
    }
}

static void done(struct play *play, const struct link_request *request, struct fence_reply *reply)
{
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        if (chance(play, TAKEN))
            taken(play, request, reply);
        else
            held(play, request, reply);
        break;
    case FENCE_REQUEST_INSPECT:
        inspected(play, request, reply);
        break;
    case FENCE_REQUEST_EXTEND:
        reply->kind = chance(play, OFTEN)  ? FENCE_REPLY_YES
                      : chance(play, HALF) ? FENCE_REPLY_NO
                                           : FENCE_REPLY_EXHAUSTED;
        break;
    case FENCE_REQUEST_CONFIRM:
    case FENCE_REQUEST_RELEASE:
    case FENCE_REQUEST_UNDO:
        reply->kind = chance(play, OFTEN) ? FENCE_REPLY_YES : FENCE_REPLY_NO;
        break;
    }
}

void lies_reply(struct play *play, const struct link_request *request,
                struct fence_reply *ret_reply)
{
    *ret_reply = (struct fence_reply){.tag = request->tag};
    if (wrong(play, REPLY_REFUSED)) {
        ret_reply->kind = FENCE_REPLY_REFUSED;
    } else if (wrong(play, REPLY_STALE)) {
        play->lies.view = view(play);
        ret_reply->kind = FENCE_REPLY_STALE;
        ret_reply->view = &play->lies.view;
    } else {
        done(play, request, ret_reply);
    }
}

static void rejoin_done(struct play *play, const struct link_request *request,
                        struct fence_rejoin_reply *reply)
{
    struct fence_counters *counters = &play->lies.counters;
    reply->outcome = FENCE_REJOIN_DONE;
    if (request->step == FENCE_REJOIN_WIPE || request->step == FENCE_REJOIN_RECORD)
        reply->cursor = chance(play, HALF) ? below(play, CURSORS) : 0;
    if (request->step == FENCE_REJOIN_RECORD) {
        counters->slot[below(play, FENCE_SLOTS)] = below(play, NUMBERS) + 1;
        reply->counters = counters;
    }
}

void lies_rejoin(struct play *play, const struct link_request *request,
                 struct fence_rejoin_reply *ret_reply)
{
    *ret_reply = (struct fence_rejoin_reply){.tag = request->tag};
    if (wrong(play, REJOIN_ERROR)) {
        ret_reply->outcome = FENCE_REJOIN_LOST;
    } else if (wrong(play, REJOIN_CHANGED)) {
        ret_reply->outcome = FENCE_REJOIN_CHANGED;
        if (request->step == FENCE_REJOIN_RECORD && chance(play, OFTEN)) {
            play->lies.view = view(play);
            ret_reply->view = &play->lies.view;
        }
    } else {
        rejoin_done(play, request, ret_reply);
    }
}
