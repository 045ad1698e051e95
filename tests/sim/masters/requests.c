#include "tests/sim/masters/requests.h"

#include "fence/master/requests.h"
#include "fence/protocol/owner.h"
#include "tests/sim/masters/turn.h"

#include <string.h>

static void name_group(const struct sim_master *master, const struct sim_lock_request *request,
                       struct fence_group *ret_group)
{
    sim_set_group(&request->set, ret_group);
    for (unsigned k = 0; k < request->set.count; k++) {
        ret_group->locks[k].slot = (uint16_t)sim_master_slot(master, request->set.resource[k]);
        ret_group->locks[k].token = request->set.token[k];
        ret_group->locks[k].hint = request->hint[k];
    }
}

static void name_by_kind(const struct sim_master *master, const struct sim_lock_request *request,
                         struct fence_request *named)
{
    if (request->kind == FENCE_REQUEST_TAKE) {
        named->take.hint = request->hint[0];
        named->take.waits = request->waits;
        named->take.ticket = request->ticket;
        named->take.gated = request->gated;
    } else if (request->kind == FENCE_REQUEST_EXTEND || request->kind == FENCE_REQUEST_JOIN) {
        named->extend.extensions_max = master->extensions;
        named->extend.extended = request->extended;
    } else if (request->kind == FENCE_REQUEST_RELEASE) {
        named->release.keep_ms = request->keep_ms;
        named->release.covers = request->covers;
    } else if (request->kind == FENCE_REQUEST_COUNT) {
        named->counter.hint = request->hint[0];
        named->counter.values = request->count;
        named->counter.names_max = request->names_max;
    }
}

/* @group: room for several. A label goes with its lock id, so @owner is the delay alone. */
static struct fence_request name_request(const struct sim_master *master,
                                         const struct sim_lock_request *request,
                                         struct fence_group *group,
                                         char owner[static FENCE_OWNER_MAX + 1])
{
    fence_owner_join("", request->delay_ms, "", owner);
    if (request->writes)
        fence_owner_mark_writer(owner);
    const bool several = request->set.count > 1;
    if (several)
        name_group(master, request, group);
    struct fence_request named = {
        .kind = request->kind,
        .resource = sim_resource_text(request->set.resource[0]),
        .lock_id = sim_lock_text(request->lock),
        .owner = owner,
        .attempt = request->attempt,
        .token = request->set.token[0],
        .ttl_ms = request->ttl_ms,
        .idempotent = request->idempotent,
        .slot = (uint16_t)sim_master_slot(master, request->set.resource[0]),
        .group = several ? group : NULL,
    };
    name_by_kind(master, request, &named);
    return named;
}

static void number_reply(const struct fence_master_answer *answer,
                         const struct sim_lock_request *request, struct sim_reply *reply)
{
    const struct fence_reply *from = &answer->reply;
    reply->kind = from->kind;
    reply->lock = from->kind == FENCE_REPLY_HELD ? sim_lock_number(answer->holder) : request->lock;
    reply->member = from->blocked;
    reply->number[0] = from->number;
    if (from->numbers)
        memcpy(reply->number, from->numbers, request->set.count * sizeof(reply->number[0]));
    reply->found = from->found;
    reply->adopted = from->adopted;
    reply->delay_ms = fence_owner_delay_ms(answer->owner);
    reply->remaining_ms = from->remaining_ms;
}

/* Reports whether a server may count on what @request wrote. */
static bool has_written(const struct sim_lock_request *request, const struct sim_reply *reply)
{
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        return reply->kind == FENCE_REPLY_NUMBER || request->set.count > 1;
    case FENCE_REQUEST_EXTEND:
    case FENCE_REQUEST_JOIN:
    case FENCE_REQUEST_CONFIRM:
    case FENCE_REQUEST_BREAK:
        return true;
    case FENCE_REQUEST_COUNT:
        return request->count > 0 || request->hint[0] > 0;
    default:
        return false;
    }
}

struct sim_reply sim_requests_execute(struct sim_master *master, const struct sim_request *request,
                                      bool copy, uint64_t local_us)
{
    struct sim_turn turn;
    struct fence_group group;
    int64_t numbers[FENCE_GROUP_MAX];
    struct fence_master_answer answer = {.numbers = numbers};
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    sim_fleet_text(fleet_id);
    char owner[FENCE_OWNER_MAX + 1];
    const struct fence_request named = name_request(master, &request->lock, &group, owner);
    sim_turn_begin(&turn, master, request, copy, local_us);
    enum fence_refusal refusal = fence_master_check(&turn.rules, fleet_id, &request->view);
    fence_master_do(&turn.rules, refusal, &named, &answer);
    sim_turn_end(&turn);
    number_reply(&answer, &request->lock, &turn.reply);
    if (turn.reply.kind == FENCE_REPLY_STALE || turn.reply.kind == FENCE_REPLY_REFUSED) {
        turn.reply.marker = master->memory.marker;
        return turn.reply;
    }
    master->memory.marker.writes += has_written(&request->lock, &turn.reply);
    turn.reply.writes = master->memory.marker.writes;
    return turn.reply;
}
