#include "tests/sim/adversary/tell.h"

#include <inttypes.h>

static const char *const calls[] = {"acquire", "extend", "release", "inspect"};
static const char *const requests[] = {"take",    "confirm", "extend", "join",
                                       "release", "undo",    "inspect"};
static const char *const replies[] = {
    "number",    "held",  "yes",     "no",      "past",  "taken",      "exhausted", "superseded",
    "uncounted", "stale", "foreign", "endless", "spent", "miscounted", "refused",   "lost"};
static const char *const steps[] = {"mark", "clear", "record", "read", "install", "admit"};
static const char *const outcomes[] = {"done", "changed", "lost"};

static void tell_call(FILE *to, const struct fence_call *call)
{
    fprintf(to, "client %" PRIu64 " asks: %s %s", call->client, calls[call->kind], call->resource);
    if (call->group)
        fprintf(to, " and %u more", call->group->count - 1);
    fprintf(to, " as %s, ttl %" PRIu32 " ms, wait %" PRIu32 " ms%s\n", call->lock_id, call->ttl_ms,
            call->wait_ms, call->idempotent ? ", again" : "");
}

static void tell_facts(FILE *to, const struct fence_facts *facts)
{
    fprintf(to, "it is %s of %s%s%s%s%s", facts->server_id, facts->lineage,
            facts->durable ? ", durable" : "", facts->intact ? ", intact" : "",
            facts->replica ? ", a replica" : "", facts->unfit ? ", unfit" : "");
    if (facts->marked)
        fprintf(to, "; marked for member %" PRIu32 " of %s by %s of %s, %s%s, next %#" PRIx64,
                facts->member, facts->fleet_id, facts->marked_server_id, facts->marked_lineage,
                facts->marked_active ? "active" : "joining",
                facts->marked_durable ? ", durable" : "", (uint64_t)facts->next);
    fprintf(to, "\n");
}

void tell_event(FILE *to, const struct fence_event *event)
{
    if (!to)
        return;
    fprintf(to, "%12" PRIu64 " us  ", event->now_us);
    switch (event->kind) {
    case FENCE_EVENT_CALL:
        tell_call(to, &event->call);
        break;
    case FENCE_EVENT_REPLY:
        fprintf(to, "master %u replies: %s (%" PRIx64 ")\n", event->master,
                replies[event->reply.kind], event->reply.tag);
        break;
    case FENCE_EVENT_FACTS:
        fprintf(to, "master %u shook hands: ", event->master);
        tell_facts(to, &event->facts);
        break;
    case FENCE_EVENT_HEARD:
        fprintf(to, "master %u is at %" PRId64 " writes\n", event->master, event->heard.writes);
        break;
    case FENCE_EVENT_DOWN:
        fprintf(to, "master %u is down: %s\n", event->master,
                fence_reason_words(event->reason, NULL)->name);
        break;
    case FENCE_EVENT_REJOIN:
        fprintf(to, "master %u, in a rejoin: %s (%" PRIx64 "), cursor %" PRIu64 "\n", event->master,
                outcomes[event->rejoin.outcome], event->rejoin.tag, event->rejoin.cursor);
        break;
    case FENCE_EVENT_LEFT:
        fprintf(to, "client %" PRIu64 " left\n", event->client);
        break;
    case FENCE_EVENT_DECLINED:
        fprintf(to, "attempt %" PRIx64 " is declined\n", event->declined.attempt);
        break;
    case FENCE_EVENT_RELEASED:
        fprintf(to, "%s gave up %s\n", event->released.lock_id, event->released.resource);
        break;
    case FENCE_EVENT_PLACE:
        fprintf(to, "%s left the queue of %s with ticket %" PRId64 ", after %" PRIu64 " us\n",
                event->place.lock_id, event->place.resource, event->place.ticket,
                event->place.waited_us);
        break;
    case FENCE_EVENT_LAGGED:
        fprintf(to, "%" PRIu64 " us are no silence\n", event->lag_us);
        break;
    case FENCE_EVENT_TICK:
        fprintf(to, "time went by\n");
        break;
    }
}

void tell_effect(FILE *to, const struct fence_effect *effect)
{
    if (!to)
        return;
    fprintf(to, "%16s> ", "");
    if (effect->kind != FENCE_EFFECT_ANSWER)
        fprintf(to, "to masters %#05" PRIx32 ": ", effect->masters);
    switch (effect->kind) {
    case FENCE_EFFECT_SEND:
        fprintf(to, "%s %s for %s (%" PRIx64 ")\n", requests[effect->request.kind],
                effect->request.resource, effect->request.lock_id, effect->request.tag);
        break;
    case FENCE_EFFECT_ANSWER:
        fprintf(to, "client %" PRIu64 " is answered: %s\n", effect->answer.client,
                fence_strerror(effect->answer.error));
        break;
    case FENCE_EFFECT_REJOIN:
        fprintf(to, "%s member %u (%" PRIx64 ")\n", steps[effect->rejoin.step],
                effect->rejoin.member, effect->rejoin.tag);
        break;
    case FENCE_EFFECT_RESTAMP:
        fprintf(to, "restamp\n");
        break;
    case FENCE_EFFECT_HANDSHAKE:
        fprintf(to, "shake hands\n");
        break;
    case FENCE_EFFECT_PLACE:
        fprintf(to, "%s left the queue of %s\n", effect->place.lock_id, effect->place.resource);
        break;
    case FENCE_EFFECT_RESET:
        fprintf(to, "reset\n");
        break;
    }
}
