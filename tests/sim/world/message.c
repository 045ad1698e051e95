#include "tests/sim/world/message.h"

#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
#include "tests/sim/masters/mutant.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_AT = 20, /* the place where a lock id's number stands */
    DIGITS = 4,
};

static const char *const resources[SIM_RESOURCES_MAX] = {"r0", "r1", "r2", "rw"};
static const char *const seats[SIM_RESOURCES_MAX] = {"r#0", "r#1", "r#2", "r#w"};

/* One buffer a number, so that texts of several locks can be held at once. */
static char lock_texts[SIM_CALLS_MAX][FENCE_LOCK_ID_LEN + 1];

const char *sim_resource_text(uint32_t resource)
{
    assert(resource < SIM_RESOURCES_MAX);
    return resources[resource];
}

const char *sim_seat_text(uint32_t resource)
{
    assert(resource < SIM_RESOURCES_MAX);
    return seats[resource];
}

const char *sim_lock_text(uint32_t lock)
{
    if (lock == SIM_TOMBSTONE)
        return FENCE_TOMBSTONE;
    if (lock == SIM_KEPT)
        return FENCE_KEPT_ID;
    assert(lock < SIM_CALLS_MAX);
    char *text = lock_texts[lock];
    if (text[0] == '\0') {
        memcpy(text, "simulated-lock-----________", FENCE_LOCK_ID_LEN);
        for (unsigned i = 0; i < DIGITS; i++, lock /= 10)
            text[DIGITS_AT + DIGITS - 1 - i] = (char)('0' + lock % 10);
    }
    return text;
}

/* The label of an acquire is the number of the call: so requests show whose they are. */
const char *sim_owner_text(uint32_t call)
{
    if (call == SIM_TOMBSTONE)
        return "";
    return call == SIM_KEPT ? FENCE_KEPT_ID : sim_lock_text(call) + DIGITS_AT;
}

const char *sim_owner_with_delay(uint32_t call, uint32_t delay_ms)
{
    static _Thread_local char owner[FENCE_OWNER_MAX + 1];
    if (call == SIM_TOMBSTONE || call == SIM_KEPT)
        return sim_owner_text(call);
    fence_owner_join(call == SIM_NO_LABEL ? "" : sim_owner_text(call), delay_ms, "", owner);
    return owner;
}

bool sim_owner_is_calls(const char *owner)
{
    return owner[0] >= '0' && owner[0] <= '9';
}

uint32_t sim_resource_number(const char *text)
{
    if (strcmp(text, SIM_SEATS_NAME) == 0)
        return 0; /* all of its seats */
    const char last = text[strlen(text) - 1];
    uint32_t resource = last == 'w' ? SIM_GATE : (uint32_t)(last - '0');
    assert(strcmp(text, sim_resource_text(resource)) == 0 ||
           strcmp(text, sim_seat_text(resource)) == 0);
    return resource;
}

uint32_t sim_lock_number(const char *text)
{
    if (text[0] == '\0')
        return 0; /* a call without a lock id: inspect */
    if (strcmp(text, FENCE_TOMBSTONE) == 0)
        return SIM_TOMBSTONE;
    if (strcmp(text, FENCE_KEPT_ID) == 0)
        return SIM_KEPT;
    assert(strlen(text) == FENCE_LOCK_ID_LEN);
    return sim_owner_number(text + DIGITS_AT);
}

uint32_t sim_owner_number(const char *text)
{
    uint32_t call = 0;
    if (strcmp(text, FENCE_KEPT_ID) == 0)
        return SIM_KEPT;
    for (unsigned i = 0; i < DIGITS; i++)
        call = call * 10 + (uint32_t)(text[i] - '0');
    assert(call < SIM_CALLS_MAX);
    return call;
}

/* ---- several at once ---------------------------------------------------------------------- */

void sim_set_text(const struct sim_set *set, char ret_text[static SIM_SET_TEXT_MAX])
{
    char *at = ret_text;
    for (unsigned k = 0; k < set->count; k++) {
        if (k > 0)
            *at++ = '+';
        memcpy(at, sim_resource_text(set->resource[k]), 2);
        at += 2;
    }
    *at = '\0';
}

void sim_set_group(const struct sim_set *set, struct fence_group *ret_group)
{
    ret_group->count = set->count;
    for (unsigned k = 0; k < set->count; k++) {
        struct fence_group_lock *lock = &ret_group->locks[k];
        const char *text = sim_resource_text(set->resource[k]);
        size_t len = strlen(text);
        lock->token = 0;
        lock->slot = (uint16_t)fence_slot(text, len);
        memcpy(lock->resource, text, len + 1);
    }
}

static struct sim_set set_of(const struct fence_request *request)
{
    const struct fence_group *group = request->group;
    if (!group)
        return (struct sim_set){.count = 1,
                                .resource = {sim_resource_number(request->resource)},
                                .token = {request->token}};
    assert(group->count <= SIM_RESOURCES_MAX);
    struct sim_set set = {.count = group->count};
    for (unsigned k = 0; k < set.count; k++) {
        set.resource[k] = sim_resource_number(group->locks[k].resource);
        set.token[k] = group->locks[k].token;
    }
    return set;
}

/* ---- the fleet and its runs ------------------------------------------------------------------ */

#define FLEET_TEXT "f1ee700000000000000000000000000000000000"
#define RUN_TEXT   "c0de000000000000000000000000000000000000" /* and a lineage; its last digits */

static_assert(sizeof(FLEET_TEXT) == FENCE_ID_HEX_LEN + 1, "a fleet id is as long as any");
static_assert(sizeof(RUN_TEXT) == FENCE_ID_HEX_LEN + 1, "a run id is as long as any");

void sim_fleet_text(char ret_text[static FENCE_ID_HEX_LEN + 1])
{
    memcpy(ret_text, FLEET_TEXT, sizeof(FLEET_TEXT));
}

void sim_run_text(uint32_t run, char ret_text[static FENCE_ID_HEX_LEN + 1])
{
    memcpy(ret_text, RUN_TEXT, sizeof(RUN_TEXT));
    for (char *digit = ret_text + FENCE_ID_HEX_LEN - 1; run > 0; run >>= 4)
        *digit-- = "0123456789abcdef"[run & 15];
}

uint32_t sim_run_number(const char *text)
{
    return text[0] ? (uint32_t)strtoul(text + 4, NULL, 16) : 0;
}

static struct sim_marker marker_of(const struct fence_facts *facts)
{
    if (!facts->marked)
        return (struct sim_marker){.present = false};
    return (struct sim_marker){
        .present = true,
        .active = facts->marked_active,
        .durable = facts->marked_durable,
        .member = facts->member - 1,
        .run = sim_run_number(facts->marked_server_id),
        .lineage = sim_run_number(facts->marked_lineage),
        .ttl_max_ms = facts->ttl_max_ms,
        .readers = facts->readers,
        .extensions_max = facts->extensions_max,
        .next = facts->next,
        .progress = facts->progress,
        .view = facts->view,
    };
}

struct fence_facts sim_facts(const struct sim_reply *reply)
{
    static const char *const persistence[] = {
        [SIM_ALWAYS] = "always", [SIM_EVERYSEC] = "everysec", [SIM_NONE] = "none"};
    const struct sim_marker *marker = &reply->marker;
    struct fence_facts facts = {
        .durable = reply->persistence == SIM_ALWAYS,
        .intact = reply->intact,
    };
    memcpy(facts.persistence, persistence[reply->persistence],
           strlen(persistence[reply->persistence]) + 1);
    sim_run_text(reply->run, facts.server_id);
    sim_run_text(reply->lineage, facts.lineage);
    if (!marker->present)
        return facts;
    facts.marked = true;
    facts.member = marker->member + 1;
    facts.marked_durable = marker->durable;
    facts.marked_active = marker->active;
    facts.initialising = !marker->active && marker->init != FENCE_MARK_REJOIN;
    facts.issued = !marker->active && marker->init == FENCE_MARK_FLOOR;
    facts.next = marker->next;
    facts.progress = marker->progress;
    facts.ttl_max_ms = marker->ttl_max_ms;
    facts.readers = marker->readers;
    facts.extensions_max = marker->extensions_max;
    facts.view = marker->view;
    facts.writes = marker->writes;
    facts.heard = marker->heard;
    memcpy(facts.fleet_id, FLEET_TEXT, sizeof(FLEET_TEXT));
    sim_run_text(marker->run, facts.marked_server_id);
    sim_run_text(marker->lineage, facts.marked_lineage);
    return facts;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void name_by_kind(const struct fence_request *request, struct sim_lock_request *ret_lock)
{
    for (unsigned k = 0; request->group && k < request->group->count; k++)
        ret_lock->hint[k] = request->group->locks[k].hint;
    if (request->kind == FENCE_REQUEST_TAKE) {
        ret_lock->hint[0] = request->group ? ret_lock->hint[0] : request->take.hint;
        ret_lock->waits = request->take.waits;
        ret_lock->ticket = request->take.ticket;
        ret_lock->gated = request->take.gated;
    } else if (request->kind == FENCE_REQUEST_JOIN) {
        ret_lock->extended = request->extend.extended;
    } else if (request->kind == FENCE_REQUEST_RELEASE) {
        ret_lock->keep_ms = request->release.keep_ms;
        ret_lock->covers = request->release.covers;
    } else if (request->kind == FENCE_REQUEST_COUNT) {
        ret_lock->hint[0] = request->counter.hint;
        ret_lock->count = request->counter.values;
        ret_lock->names_max = request->counter.names_max;
    }
}

struct sim_request sim_lock_request(const struct fence_request *request)
{
    bool acquires = request->kind == FENCE_REQUEST_TAKE && sim_owner_is_calls(request->owner);
    struct sim_request made = {
        .ask = SIM_ASK_LOCK,
        .tag = request->tag,
        .lock = {.kind = request->kind,
                 .set = set_of(request),
                 .lock = sim_lock_number(request->lock_id),
                 .call = acquires ? sim_owner_number(request->owner) : SIM_NO_LOCK,
                 .ttl_ms = request->ttl_ms,
                 .delay_ms = fence_owner_delay_ms(request->owner),
                 .attempt = request->attempt,
                 .idempotent = request->idempotent},
    };
    name_by_kind(request, &made.lock);
    return made;
}

static void name_seen(const struct fence_facts *seen, struct sim_rejoin_request *ret_rejoin)
{
    ret_rejoin->seen = marker_of(seen);
    ret_rejoin->run = sim_run_number(seen->server_id);
    ret_rejoin->lineage = sim_run_number(seen->lineage);
    ret_rejoin->durable = seen->durable;
}

static void name_page(const struct fence_page *page, struct sim_rejoin_request *ret_rejoin)
{
    ret_rejoin->has_page = page->len > 0;
    if (!ret_rejoin->has_page)
        return;
    assert(page->len == sizeof(ret_rejoin->page));
    memcpy(&ret_rejoin->page, page->bytes, sizeof(ret_rejoin->page));
}

struct sim_request sim_rejoin_request(const struct fence_rejoin_request *request)
{
    struct sim_request made = {
        .ask = SIM_ASK_REJOIN,
        .tag = request->tag,
        .rejoin = {.step = request->step,
                   .target = request->member,
                   .incarnation = request->incarnation,
                   .cursor = request->cursor,
                   .part = request->part,
                   .source = request->source,
                   .steps = request->steps,
                   .ttl_max_ms = request->ttl_max_ms,
                   .readers = request->readers,
                   .extensions_max = request->extensions_max,
                   .mark = request->mark,
                   .floor = request->floor},
    };
    if (request->view)
        made.view = *request->view;
    if (request->step == FENCE_REJOIN_MARK) {
        assert(strcmp(request->fleet_id, FLEET_TEXT) == 0);
        name_seen(request->seen, &made.rejoin);
        made.rejoin.keeps = request->keeps;
    }
    if (request->step == FENCE_REJOIN_INSTALL)
        name_page(request->page, &made.rejoin);
    return made;
}

struct sim_request sim_restamp_request(const struct fence_facts *seen)
{
    struct sim_request made = {.ask = SIM_ASK_RESTAMP};
    name_seen(seen, &made.rejoin);
    return made;
}

/* ---- replies --------------------------------------------------------------------------------- */

/* Reports whether it names a label, where it names one. */
static const char *owner_of(const struct sim_request *request, const struct sim_reply *reply)
{
    const bool extends =
        request->lock.kind == FENCE_REQUEST_EXTEND || request->lock.kind == FENCE_REQUEST_JOIN;
    if (reply->kind == FENCE_REPLY_BROKEN)
        return SIM_BREAKER;
    if (reply->kind == FENCE_REPLY_HELD || reply->kind == FENCE_REPLY_SUPERSEDED ||
        (extends && reply->kind == FENCE_REPLY_YES))
        return sim_owner_with_delay(reply->lock, reply->delay_ms);
    return "";
}

struct fence_reply sim_lock_reply(const struct sim_request *request, const struct sim_reply *reply)
{
    bool held = reply->kind == FENCE_REPLY_HELD;
    bool several = request->lock.set.count > 1;
    return (struct fence_reply){
        .kind = reply->kind,
        .tag = request->tag,
        .locks = request->lock.set.count,
        .number = reply->number[0],
        .numbers = several ? reply->number : NULL,
        .blocked = reply->member,
        .found = reply->found,
        .adopted = reply->adopted,
        .holder = held ? sim_lock_text(reply->lock) : "",
        .owner = owner_of(request, reply),
        .remaining_ms = reply->remaining_ms,
        .view = reply->kind == FENCE_REPLY_STALE ? &reply->marker.view : NULL,
        .writes = reply->writes,
    };
}

struct fence_rejoin_reply sim_rejoin_reply(const struct sim_request *request,
                                           const struct sim_reply *reply)
{
    bool has_page = reply->outcome == FENCE_REJOIN_DONE && reply->has_page;
    bool has_view =
        reply->outcome == FENCE_REJOIN_CHANGED && request->rejoin.step == FENCE_REJOIN_RECORD;
    return (struct fence_rejoin_reply){
        .outcome = reply->outcome,
        .tag = request->tag,
        .cursor = reply->cursor,
        .page = {.bytes = has_page ? (const char *)&reply->page : "",
                 .len = has_page ? sizeof(reply->page) : 0},
        .highest = reply->highest,
        .writes = request->rejoin.step == FENCE_REJOIN_RECORD && reply->outcome == FENCE_REJOIN_DONE
                      ? reply->marker.writes
                      : 0,
        .view = has_view ? &reply->marker.view : NULL,
    };
}

bool sim_reply_discount(struct sim_reply *reply)
{
    if (!reply->undurable || SIM_MUTANT(UNDURABLE_COUNTS))
        return false;
    reply->kind = FENCE_REPLY_LOST;
    reply->writes = 0;
    reply->outcome = FENCE_REJOIN_LOST;
    return true;
}

const char *sim_request_name(const struct sim_request *request)
{
    static const char *const steps[] = {
        [FENCE_REJOIN_MARK] = "MARK",       [FENCE_REJOIN_CLEAR] = "CLEAR",
        [FENCE_REJOIN_RECORD] = "RECORD",   [FENCE_REJOIN_READ] = "READ",
        [FENCE_REJOIN_INSTALL] = "INSTALL", [FENCE_REJOIN_ADMIT] = "ADMIT",
        [FENCE_REJOIN_SURVEY] = "SURVEY",   [FENCE_REJOIN_LEASES] = "LEASES",
        [FENCE_REJOIN_CLOSE] = "CLOSE",
    };
    switch (request->ask) {
    case SIM_ASK_LOCK:
        return fence_request_name(request->lock.kind);
    case SIM_ASK_REJOIN:
        return steps[request->rejoin.step];
    case SIM_ASK_SCAN:
        return "SCAN";
    case SIM_ASK_HOLDERS:
        return "HOLDERS";
    case SIM_ASK_PROBE:
        return "PROBE";
    default:
        return request->ask == SIM_ASK_RESTAMP ? "RESTAMP" : "FACTS";
    }
}

const char *sim_reply_name(const struct sim_request *request, const struct sim_reply *reply)
{
    if (request->ask == SIM_ASK_LOCK)
        return fence_reply_name(reply->kind);
    return reply->outcome == FENCE_REJOIN_DONE      ? "done"
           : reply->outcome == FENCE_REJOIN_CHANGED ? "changed"
                                                    : "refused";
}
