#include "tests/sim/adversary/links.h"

#include "tests/sim/adversary/play.h"

#include <assert.h>
#include <string.h>

/* Per mille. */
enum {
    SHAKES_FAIL = 170,
    SHAKES_FAIL_HONEST = 30,
};

void links_init(struct play *play)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
        struct link *link = &play->links[i];
        link->state = LINK_CLOSED;
        link->reset = false;
        link->first = link->count = 0;
    }
}

/* ---- what the core wants --------------------------------------------------------------------- */

static void push(struct play *play, unsigned i, const struct link_request *request)
{
    struct link *link = &play->links[i];
    if (link->count == LINK_OWED_MAX) {
        play_fail(play, "master %u owes %u replies, and is asked for more", i, link->count);
        return;
    }
    link->owed[(link->first + link->count++) % LINK_OWED_MAX] = *request;
}

static void send(struct play *play, unsigned i, const struct fence_request *request)
{
    play->stats.requests++;
    push(play, i,
         &(struct link_request){
             .tag = request->tag,
             .kind = request->kind,
             .group = request->group ? request->group->count : 0,
         });
}

/* A page goes to the member as it was read, or it is a sign of life. */
static void check_page(struct play *play, const struct fence_rejoin_request *request)
{
    const struct fence_page *page = request->page;
    play->stats.pages_merged += page->len > 0;
    play->stats.signs_of_life += page->len == 0;
    if (page->len > LIES_PAGE_MAX || request->source >= play->masters)
        play_fail(play, "a page of %zu bytes, from master %u", page->len, request->source);
    else if (page->len > 0 && page->bytes != play->lies.page)
        play_fail(play, "a page that nobody wrote");
}

static void send_rejoin(struct play *play, unsigned i, const struct fence_rejoin_request *request)
{
    struct stats *stats = &play->stats;
    stats->marks += request->step == FENCE_REJOIN_MARK;
    stats->clears += request->step == FENCE_REJOIN_CLEAR;
    stats->records += request->step == FENCE_REJOIN_RECORD;
    stats->counters_read +=
        request->step == FENCE_REJOIN_READ && request->part == FENCE_REJOIN_COUNTERS;
    stats->locks_read += request->step == FENCE_REJOIN_READ && request->part == FENCE_REJOIN_LOCKS;
    stats->admits += request->step == FENCE_REJOIN_ADMIT;
    if (request->step == FENCE_REJOIN_INSTALL)
        check_page(play, request);
    push(play, i,
         &(struct link_request){
             .tag = request->tag,
             .is_rejoin = true,
             .step = request->step,
             .part = request->part,
         });
}

void link_act(struct play *play, unsigned i, const struct fence_effect *effect)
{
    static const char *const names[] = {
        [FENCE_EFFECT_SEND] = "a request",    [FENCE_EFFECT_REJOIN] = "a step of a rejoin",
        [FENCE_EFFECT_RESTAMP] = "a restamp", [FENCE_EFFECT_HANDSHAKE] = "a handshake",
        [FENCE_EFFECT_PLACE] = "a place",
    };
    struct link *link = &play->links[i];
    if (effect->kind == FENCE_EFFECT_RESET) {
        play->stats.connections_reset++;
        link->reset = true;
        return;
    }
    if (link->state != LINK_READY || link->reset) {
        play_fail(play, "%s for master %u, which is %s%s", names[effect->kind], i,
                  link->state == LINK_READY     ? "connected"
                  : link->state == LINK_SHAKING ? "in a handshake"
                                                : "not connected",
                  link->reset ? ", and was reset" : "");
        return;
    }
    if (effect->kind == FENCE_EFFECT_SEND) {
        send(play, i, &effect->request);
    } else if (effect->kind == FENCE_EFFECT_PLACE) {
        return; /* it may be lost: calls.c makes others */
    } else if (effect->kind == FENCE_EFFECT_REJOIN) {
        send_rejoin(play, i, &effect->rejoin);
    } else {
        play->stats.restamps += effect->kind == FENCE_EFFECT_RESTAMP;
        play->stats.shakes += effect->kind == FENCE_EFFECT_HANDSHAKE;
        link->state = LINK_SHAKING;
    }
}

void links_check(struct play *play)
{
    const struct fence_fleet *fleet = fence_core_fleet(play->core);
    for (unsigned i = 0; i < play->masters; i++) {
        const struct link *link = &play->links[i];
        bool connected = link->state != LINK_CLOSED && !link->reset;
        if (fleet->master[i].connected != connected)
            play_fail(play, "master %u is %sconnected, unknown to the core", i,
                      connected ? "" : "not ");
    }
}

/* ---- replies --------------------------------------------------------------------------------- */

static struct link_request pop(struct link *link)
{
    assert(link->count > 0);
    struct link_request oldest = link->owed[link->first];
    link->first = (link->first + 1) % LINK_OWED_MAX;
    link->count--;
    return oldest;
}

static void lose(struct play *play, unsigned i, const struct link_request *request)
{
    struct fence_event event = {.master = i};
    play->stats.replies_lost++;
    if (request->is_rejoin) {
        event.kind = FENCE_EVENT_REJOIN;
        event.rejoin = (struct fence_rejoin_reply){
            .outcome = FENCE_REJOIN_LOST,
            .tag = request->tag,
        };
    } else {
        event.kind = FENCE_EVENT_REPLY;
        event.reply = (struct fence_reply){
            .kind = FENCE_REPLY_LOST,
            .tag = request->tag,
            .locks = request->group,
        };
    }
    play_step(play, &event);
}

static void lose_all(struct play *play, unsigned i)
{
    while (play->links[i].count > 0 && play_ok(play)) {
        struct link_request oldest = pop(&play->links[i]);
        lose(play, i, &oldest);
    }
}

static void answer_rejoin(struct play *play, unsigned i, const struct link_request *request)
{
    struct fence_event event = {.kind = FENCE_EVENT_REJOIN, .master = i};
    lies_rejoin(play, request, &event.rejoin);
    bool is_error = event.rejoin.outcome == FENCE_REJOIN_REFUSED;
    play->stats.rejoins_changed += event.rejoin.outcome == FENCE_REJOIN_CHANGED;
    play->stats.rejoins_lost += is_error;
    play_step(play, &event);
    if (is_error && play->links[i].state == LINK_READY) /* an error costs the connection */
        link_fail(play, i);
}

void link_answer(struct play *play, unsigned i)
{
    struct link *link = &play->links[i];
    if (link->count == 0)
        return;
    struct link_request oldest = pop(link);
    play->stats.replies++;
    play->stats.replies_after_reset += link->reset;
    if (oldest.is_rejoin) {
        answer_rejoin(play, i, &oldest);
        return;
    }
    struct fence_event event = {.kind = FENCE_EVENT_REPLY, .master = i};
    lies_reply(play, &oldest, &event.reply);
    play->stats.requests_stale += event.reply.kind == FENCE_REPLY_STALE;
    play->stats.requests_refused += event.reply.kind == FENCE_REPLY_REFUSED;
    play->stats.requests_foreign +=
        event.reply.kind == FENCE_REPLY_FOREIGN || event.reply.kind == FENCE_REPLY_ENDLESS;
    play->stats.superseded += event.reply.kind == FENCE_REPLY_SUPERSEDED;
    play->stats.uncounted += event.reply.kind == FENCE_REPLY_UNCOUNTED;
    play->stats.tombstones_met +=
        event.reply.kind == FENCE_REPLY_HELD && strcmp(event.reply.holder, FENCE_TOMBSTONE) == 0;
    play_step(play, &event);
}

/* ---- beginnings and ends --------------------------------------------------------------------- */

static bool is_due(const struct link *link)
{
    return link->state != LINK_READY && !link->reset;
}

void link_shake(struct play *play, unsigned i)
{
    struct link *link = &play->links[i];
    /* An earlier question comes first; and may end the connection, or have it reset. */
    while (link->state == LINK_SHAKING && is_due(link) && link->count > 0 && play_ok(play))
        link_answer(play, i);
    if (!is_due(link) || !play_ok(play))
        return;
    if (play_chance(play, play->honest ? SHAKES_FAIL_HONEST : SHAKES_FAIL)) {
        link_fail(play, i);
        return;
    }
    assert(link->count == 0);
    struct fence_event event = {.kind = FENCE_EVENT_FACTS, .master = i};
    lies_facts(play, i, &event.facts);
    link->state = LINK_READY;
    play->stats.handshakes++;
    play_step(play, &event);
}

void link_probe(struct play *play, unsigned i)
{
    struct fence_event event = {.kind = FENCE_EVENT_HEARD, .master = i};
    if (play->links[i].state != LINK_READY || play->links[i].reset)
        return;
    lies_heard(play, &event);
    play->stats.probes++;
    play_step(play, &event);
}

void link_fail(struct play *play, unsigned i)
{
    static const enum fence_reason reasons[] = {
        FENCE_REASON_UNREACHABLE,
        FENCE_REASON_SILENT,
        FENCE_REASON_UNWILLING,
        FENCE_REASON_ERROR,
    };
    struct link *link = &play->links[i];
    struct fence_event event = {
        .kind = FENCE_EVENT_DOWN,
        .master = i,
        .reason = reasons[play_below(play, sizeof(reasons) / sizeof(reasons[0]))],
    };
    play->stats.connections_down++;
    link->state = LINK_CLOSED;
    link->reset = false;
    play_step(play, &event);
    lose_all(play, i);
}

void links_close_reset(struct play *play)
{
    for (unsigned i = 0; i < play->masters && play_ok(play); i++) {
        if (!play->links[i].reset)
            continue;
        play->links[i].reset = false;
        play->links[i].state = LINK_CLOSED;
        lose_all(play, i);
    }
}
