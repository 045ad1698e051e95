#include "tests/sim/adversary/lies.h"

#include "tests/sim/adversary/play.h"

#include <stdio.h>
#include <string.h>

enum {
    TTL_MAX_MS = 5000, /* for the fleet; CALLS_TTL_MAX_MS lies above it */
    TTL_MAX_OTHER_MS = 1000,

    RUNS = 2, /* run ids that a master may have: one more would hardly ever be met again */
    LINEAGES = 2,
    ADMISSIONS = 4,   /* that incarnations are made of, */
    RANDOM_PARTS = 2, /* and these */
    NUMBERS = 3,      /* counted; few, so that they meet */
    CURSORS = 3,      /* 0, the end, among them */
    WRITES = 4,       /* that a position counts */
    LEASE_MS = 4000,
};

/* How often, per mille. Those of SERVER, MARKER and REPLY never where the play is honest. */
enum {
    SERVER_WRONG = 17, /* for each thing that can be wrong with a server */
    SERVER_TWIN = 4,   /* it is another master's too */
    MARKER_MISSING = 80,
    MARKER_OTHER = 30, /* for each thing that can be another's */
    MARKER_RUN_OTHER = 500,
    MARKER_LINEAGE_OTHER = 250,
    MARKER_JOINING = 160,
    REPLY_REFUSED = 20,
    REPLY_STALE = 20,
    REPLY_FOREIGN = 20,
    POSITION_TOLD = 100,
    REJOIN_CHANGED = 170,
    REJOIN_ERROR = 80,
    LOCKS_UNREADABLE = 950, /* in a play of such masters */

    DURABLE = 750,
    INTACT = 500,
    NEXT = 250,
    NEXT_OWN = 667, /* as this server meant it */
    INCARNATION_LAST = 20,
    VIEW_AS_BELIEVED = 667,
    TAKEN = 750,
    FOUND = 170,
    NUMBER_HIGHER = 170, /* than those beside it, in a group */
    NUMBER_LAST = 2,     /* no token could follow */
    OFTEN = 667,
    HALF = 500,
    RARELY = 125,
};

static bool wrong(struct play *play, uint32_t permille)
{
    return !play->honest && play_chance(play, permille);
}

void lies_init(struct lies *lies)
{
    memset(lies, 0, sizeof(*lies));
}

/* ---- views ----------------------------------------------------------------------------------- */

static int64_t incarnation(struct play *play)
{
    if (play_chance(play, INCARNATION_LAST))
        return FENCE_INCARNATION_MAX - play_below(play, 2);
    int64_t admissions = play_below(play, ADMISSIONS);
    return admissions << FENCE_INCARNATION_MEMORY_SHIFT | play_below(play, RANDOM_PARTS);
}

static struct fence_view view(struct play *play)
{
    struct fence_view made = fence_core_fleet(play->core)->view;
    if (play_chance(play, VIEW_AS_BELIEVED)) {
        if (play_chance(play, HALF))
            made.incarnation[play_below(play, play->masters)] = incarnation(play);
        return made;
    }
    for (unsigned i = 0; i < play->masters; i++)
        made.incarnation[i] = incarnation(play);
    return made;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void run_id(struct play *play, unsigned i, char ret_id[static FENCE_ID_HEX_LEN + 1])
{
    unsigned run = play->honest ? 0 : play_below(play, RUNS);
    snprintf(ret_id, FENCE_ID_HEX_LEN + 1, "run-%u-of-master-%u", run, i);
}

static void lineage(struct play *play, unsigned i, char ret_text[static FENCE_LINEAGE_MAX + 1])
{
    unsigned drawn = play->honest ? 0 : play_below(play, LINEAGES);
    snprintf(ret_text, FENCE_LINEAGE_MAX + 1, "lineage-%u-of-master-%u", drawn, i);
}

static int64_t next(struct play *play, unsigned i)
{
    if (!play_chance(play, NEXT))
        return 0;
    int64_t meant = fence_core_fleet(play->core)->master[i].meant;
    return play_chance(play, NEXT_OWN) ? meant : incarnation(play);
}

static void mark(struct play *play, unsigned i, struct fence_facts *facts)
{
    const char *fleet = wrong(play, MARKER_OTHER) ? "another-fleet" : "the-fleet";
    facts->marked = true;
    snprintf(facts->fleet_id, sizeof(facts->fleet_id), "%s", fleet);
    facts->member = wrong(play, MARKER_OTHER) ? play_below(play, play->masters) + 1 : i + 1;
    if (wrong(play, MARKER_RUN_OTHER))
        run_id(play, i, facts->marked_server_id);
    else
        memcpy(facts->marked_server_id, facts->server_id, sizeof(facts->server_id));
    if (wrong(play, MARKER_LINEAGE_OTHER))
        lineage(play, i, facts->marked_lineage);
    else
        memcpy(facts->marked_lineage, facts->lineage, sizeof(facts->lineage));
    facts->intact = play_chance(play, INTACT);
    facts->marked_durable = play_chance(play, DURABLE);
    facts->marked_active = !wrong(play, MARKER_JOINING);
    facts->next = next(play, i);
    facts->progress = play_below(play, CURSORS);
    facts->ttl_max_ms = wrong(play, MARKER_OTHER) ? TTL_MAX_OTHER_MS : TTL_MAX_MS;
    facts->view = play->honest ? fence_core_fleet(play->core)->view : view(play);
}

/* 0: it does not say. */
static int64_t writes(struct play *play)
{
    return wrong(play, POSITION_TOLD) ? play_below(play, WRITES) : 0;
}

static struct fence_positions positions(struct play *play)
{
    struct fence_positions made = {0};
    for (unsigned i = 0; i < play->masters; i++)
        if (wrong(play, POSITION_TOLD))
            made.of[i] = (struct fence_position){incarnation(play), play_below(play, WRITES)};
    return made;
}

static const struct fence_words unfit = {"unfit", "It cannot serve."};

void lies_facts(struct play *play, unsigned i, struct fence_facts *ret_facts)
{
    *ret_facts = (struct fence_facts){
        .unfit = wrong(play, SERVER_WRONG) ? &unfit : NULL,
        .replica = wrong(play, SERVER_WRONG),
        .durable = play_chance(play, DURABLE),
        .persistence = "always",
        .writes = writes(play),
        .heard = positions(play),
    };
    run_id(play, wrong(play, SERVER_TWIN) ? 0 : i, ret_facts->server_id);
    lineage(play, i, ret_facts->lineage);
    if (!wrong(play, MARKER_MISSING))
        mark(play, i, ret_facts);
}

void lies_heard(struct play *play, struct fence_event *event)
{
    event->heard.positions = positions(play);
    event->heard.writes = writes(play);
}

/* ---- replies --------------------------------------------------------------------------------- */

static void held(struct play *play, const struct link_request *request, struct fence_reply *reply)
{
    reply->kind = FENCE_REPLY_HELD;
    bool tombstone = play_chance(play, RARELY);
    reply->holder = tombstone ? FENCE_TOMBSTONE : calls_some_lock_id(play);
    reply->owner = tombstone ? "" : "somebody";
    reply->remaining_ms = play_below(play, LEASE_MS);
    reply->blocked = play_below(play, request->group);
}

static void taken(struct play *play, const struct link_request *request, struct fence_reply *reply)
{
    int64_t *numbers = play->lies.numbers;
    int64_t number =
        play_chance(play, NUMBER_LAST) ? FENCE_TOKEN_MAX - 1 : play_below(play, NUMBERS) + 1;
    for (unsigned k = 0; k < FENCE_GROUP_MAX; k++)
        numbers[k] = number + play_chance(play, NUMBER_HIGHER);
    reply->kind = FENCE_REPLY_NUMBER;
    reply->number = numbers[0];
    reply->numbers = request->group ? numbers : NULL;
    reply->found = play_chance(play, FOUND);
    /* Of a group, a part may have been found, and the whole not. */
    if (reply->found || (request->group && play_chance(play, RARELY)))
        reply->remaining_ms = play_below(play, LEASE_MS) + 1;
}

static void inspected(struct play *play, const struct link_request *request,
                      struct fence_reply *reply)
{
    reply->kind = FENCE_REPLY_NO;
    if (play_chance(play, HALF)) {
        held(play, request, reply);
        reply->number = play_below(play, NUMBERS) + 1;
    }
}

/* Somebody wrote to Redis by hand. */
static void foreign(struct play *play, const struct link_request *request,
                    struct fence_reply *reply)
{
    reply->kind = play_chance(play, HALF) ? FENCE_REPLY_FOREIGN : FENCE_REPLY_ENDLESS;
    reply->blocked = play_below(play, request->group);
}

/* For a named counter. */
static void counted(struct play *play, struct fence_reply *reply)
{
    static const enum fence_reply_kind counts_not[] = {FENCE_REPLY_NO, FENCE_REPLY_FULL,
                                                       FENCE_REPLY_SPENT, FENCE_REPLY_MISCOUNTED};
    if (!play_chance(play, OFTEN)) {
        reply->kind = counts_not[play_below(play, sizeof(counts_not) / sizeof(counts_not[0]))];
        return;
    }
    reply->kind = FENCE_REPLY_NUMBER;
    reply->number =
        play_chance(play, NUMBER_LAST) ? FENCE_TOKEN_MAX : play_below(play, NUMBERS) + 1;
}

/* An extension, or a lock that joins. */
static void extended(struct play *play, struct fence_reply *reply)
{
    static const enum fence_reply_kind extends_not[] = {
        FENCE_REPLY_NO,         FENCE_REPLY_PAST,      FENCE_REPLY_TAKEN,  FENCE_REPLY_EXHAUSTED,
        FENCE_REPLY_SUPERSEDED, FENCE_REPLY_UNCOUNTED, FENCE_REPLY_BROKEN,
    };
    if (!play_chance(play, OFTEN)) {
        reply->kind = extends_not[play_below(play, sizeof(extends_not) / sizeof(extends_not[0]))];
        reply->owner = "an operator";
        return;
    }
    reply->kind = FENCE_REPLY_YES;
    reply->number = play_chance(play, RARELY) ? 0 : play_below(play, FENCE_EXTENSIONS_MAX) + 1;
    reply->owner = reply->number > 0 ? "somebody" : "";
}

static void broken(struct play *play, const struct link_request *request, struct fence_reply *reply)
{
    reply->kind = play_chance(play, OFTEN) ? FENCE_REPLY_YES : FENCE_REPLY_SPENT;
    if (play_chance(play, HALF))
        return;
    held(play, request, reply);
    reply->number = play_below(play, NUMBERS) + 1;
}

static void done(struct play *play, const struct link_request *request, struct fence_reply *reply)
{
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        if (play_chance(play, TAKEN))
            taken(play, request, reply);
        else
            held(play, request, reply);
        break;
    case FENCE_REQUEST_INSPECT:
        inspected(play, request, reply);
        break;
    case FENCE_REQUEST_EXTEND:
    case FENCE_REQUEST_JOIN:
        extended(play, reply);
        break;
    case FENCE_REQUEST_RELEASE:
        reply->kind = play_chance(play, OFTEN)  ? FENCE_REPLY_YES
                      : play_chance(play, HALF) ? FENCE_REPLY_NO
                                                : FENCE_REPLY_UNCOUNTED;
        reply->adopted = reply->kind == FENCE_REPLY_YES && play_chance(play, HALF);
        break;
    case FENCE_REQUEST_CONFIRM:
    case FENCE_REQUEST_UNDO:
        reply->kind = play_chance(play, OFTEN) ? FENCE_REPLY_YES : FENCE_REPLY_NO;
        break;
    case FENCE_REQUEST_COUNT:
        counted(play, reply);
        break;
    case FENCE_REQUEST_BREAK:
        broken(play, request, reply);
        break;
    }
}

void lies_reply(struct play *play, const struct link_request *request,
                struct fence_reply *ret_reply)
{
    *ret_reply = (struct fence_reply){
        .tag = request->tag,
        .locks = request->group,
        .writes = writes(play),
    };
    if (wrong(play, REPLY_REFUSED)) {
        ret_reply->kind = FENCE_REPLY_REFUSED;
    } else if (wrong(play, REPLY_STALE)) {
        play->lies.view = view(play);
        ret_reply->kind = FENCE_REPLY_STALE;
        ret_reply->view = &play->lies.view;
    } else if (request->kind != FENCE_REQUEST_COUNT && wrong(play, REPLY_FOREIGN)) {
        foreign(play, request, ret_reply);
    } else {
        done(play, request, ret_reply);
    }
}

static void rejoin_done(struct play *play, const struct link_request *request,
                        struct fence_rejoin_reply *reply)
{
    reply->outcome = FENCE_REJOIN_DONE;
    if (request->step == FENCE_REJOIN_CLEAR || request->step == FENCE_REJOIN_READ)
        reply->cursor = play_chance(play, HALF) ? play_below(play, CURSORS) : 0;
    if (request->step == FENCE_REJOIN_READ)
        reply->page = (struct fence_page){
            .bytes = play->lies.page,
            .len = play_chance(play, HALF) ? 0 : play_below(play, LIES_PAGE_MAX + 1),
        };
}

void lies_rejoin(struct play *play, const struct link_request *request,
                 struct fence_rejoin_reply *ret_reply)
{
    *ret_reply = (struct fence_rejoin_reply){.tag = request->tag};
    bool unreadable = request->step == FENCE_REJOIN_READ && request->part == FENCE_REJOIN_LOCKS &&
                      play->unreadable && play_chance(play, LOCKS_UNREADABLE);
    if (wrong(play, REJOIN_ERROR) || unreadable) {
        ret_reply->outcome = FENCE_REJOIN_REFUSED;
    } else if (wrong(play, REJOIN_CHANGED)) {
        ret_reply->outcome = FENCE_REJOIN_CHANGED;
        if (request->step == FENCE_REJOIN_RECORD && play_chance(play, OFTEN)) {
            play->lies.view = view(play);
            ret_reply->view = &play->lies.view;
        }
    } else {
        rejoin_done(play, request, ret_reply);
    }
}
