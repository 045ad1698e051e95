#include "api/story/master.h"

#include "fence/master/marker.h"
#include "fence/master/requests.h"

#include <assert.h>
#include <string.h>

enum {
    CLOCK_MS = 1000 * 1000, /* the first time on the clock of a master: so the clock can be set
                             * back, too */
};

/* The id of a run or of a lineage: its last digits. */
static void write_id(uint32_t number, char ret_text[static FENCE_ID_HEX_LEN + 1])
{
    memset(ret_text, '0', FENCE_ID_HEX_LEN);
    ret_text[FENCE_ID_HEX_LEN] = '\0';
    for (char *digit = ret_text + FENCE_ID_HEX_LEN - 1; number > 0; number >>= 4)
        *digit-- = "0123456789abcdef"[number & 15];
}

uint64_t story_master_clock_ms(const struct story_master *master, uint64_t now_us)
{
    return (uint64_t)((int64_t)(now_us / 1000) + CLOCK_MS + master->clock_ms);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Begins a process, whose data have a new lineage. */
static void begin_run(struct story_master *master, uint32_t run)
{
    master->is_up = true;
    master->run = run;
    master->lineage = run;
}

void story_master_start(struct story_master *master, unsigned me, unsigned members, uint32_t run)
{
    *master = (struct story_master){.me = me, .members = members};
    begin_run(master, run);
}

void story_master_restart(struct story_master *master, uint32_t run)
{
    begin_run(master, run);
}

void story_master_wipe(struct story_master *master, uint32_t run)
{
    master->memory = (struct story_memory){0};
    master->replica = master->memory;
    begin_run(master, run);
}

void story_master_fail_over(struct story_master *master, uint32_t run)
{
    master->memory = master->replica;
    master->memory.doubt = master->memory.marker.present;
    begin_run(master, run);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void begin_turn(struct story_master *master, uint64_t now_us, struct story_page *page,
                       struct story_turn *ret_turn)
{
    *ret_turn = (struct story_turn){
        .rules = {.store = &story_store,
                  .context = ret_turn,
                  .members = master->members,
                  .me = master->me,
                  .durable = true,
                  .server_id = ret_turn->server_id,
                  .lineage = ret_turn->lineage,
                  .now_ms = story_master_clock_ms(master, now_us),
                  .marker = master->memory.marker},
        .memory = &master->memory,
        .page = page,
    };
    write_id(master->run, ret_turn->server_id);
    write_id(master->lineage, ret_turn->lineage);
}

static void end_turn(struct story_master *master, const struct story_turn *turn)
{
    if (turn->rules.marker_changed)
        master->memory.marker = turn->rules.marker;
}

/* ---- requests about locks -------------------------------------------------------------------- */

static void copy_answer(const struct fence_master_answer *answer, unsigned locks,
                        struct story_reply *reply)
{
    reply->lock = answer->reply;
    story_text_copy(reply->holder, sizeof(reply->holder), answer->holder);
    story_text_copy(reply->owner, sizeof(reply->owner), answer->owner);
    reply->lock.locks = locks;
    reply->lock.holder = reply->holder;
    reply->lock.owner = reply->owner;
    reply->lock.numbers = locks > 1 ? reply->numbers : NULL;
    for (unsigned k = 0; k < locks; k++)
        reply->numbers[k] = answer->numbers[k];
}

/* Reports whether pawld may count on the writes of the request. */
static bool writes(const struct story_lock_request *lock, const struct story_reply *reply)
{
    switch (lock->request.kind) {
    case FENCE_REQUEST_TAKE:
        return reply->lock.kind == FENCE_REPLY_NUMBER || lock->group.count > 0;
    case FENCE_REQUEST_CONFIRM:
    case FENCE_REQUEST_EXTEND:
    case FENCE_REQUEST_JOIN:
        return true;
    default:
        return false;
    }
}

static void execute_lock(struct story_master *master, const struct story_ask *ask, uint64_t now_us,
                         struct story_reply *reply, struct story_done *ret_done)
{
    static struct fence_group group;
    int64_t numbers[FENCE_GROUP_MAX] = {0};
    struct fence_master_answer answer = {.numbers = numbers};
    struct fence_request request = ask->lock.request;
    const struct story_memory before = master->memory;
    struct story_turn turn;
    if (ask->lock.group.count > 0) {
        story_group_widen(&ask->lock.group, &group);
        request.group = &group;
    }
    begin_turn(master, now_us, &reply->page, &turn);
    const enum fence_refusal refusal =
        fence_master_check(&turn.rules, turn.rules.marker.fleet_id, &ask->view);
    fence_master_do(&turn.rules, refusal, &request, &answer);
    end_turn(master, &turn);
    copy_answer(&answer, fence_request_locks(&request), reply);
    reply->lock.tag = ask->tag;
    reply->view = master->memory.marker.view;
    reply->lock.view = reply->lock.kind == FENCE_REPLY_STALE ? &reply->view : NULL;
    *ret_done = turn.done;
    if (reply->lock.kind == FENCE_REPLY_STALE || reply->lock.kind == FENCE_REPLY_REFUSED)
        return;
    if (master->memory.counter > before.counter)
        master->replica = before;
    master->memory.writes += writes(&ask->lock, reply);
    reply->lock.writes = master->memory.writes;
}

/* ---- handshakes ------------------------------------------------------------------------------ */

static bool has_kept_all(const struct story_master *master)
{
    const struct fence_stored_marker *marker = &master->memory.marker;
    return marker->present && (marker->active || marker->intact) && marker->durable &&
           !master->memory.doubt;
}

void story_master_facts(const struct story_master *master, struct fence_facts *ret_facts)
{
    *ret_facts = (struct fence_facts){.intact = has_kept_all(master), .durable = true};
    story_text_copy(ret_facts->persistence, sizeof(ret_facts->persistence), "always");
    write_id(master->run, ret_facts->server_id);
    write_id(master->lineage, ret_facts->lineage);
    if (!master->memory.marker.present)
        return;
    fence_stored_marker_facts(&master->memory.marker, ret_facts);
    ret_facts->writes = master->memory.writes;
    ret_facts->heard = master->memory.heard;
}

static void hear(struct story_master *master, const struct story_ask *ask)
{
    if (ask->tells && master->memory.marker.present)
        fence_positions_merge(&master->memory.heard, &ask->known, FENCE_MASTERS_MAX);
}

static void restamp_marker(struct story_master *master, const struct fence_facts *seen,
                           uint64_t now_us)
{
    struct fence_facts own;
    struct story_turn turn;
    story_master_facts(master, &own);
    begin_turn(master, now_us, NULL, &turn);
    const bool kept = !master->memory.doubt && own.marked &&
                      !fence_facts_lost_writes(&own, master->me) &&
                      fence_master_restamp(&turn.rules, seen);
    end_turn(master, &turn);
    if (kept)
        master->memory.writes += FENCE_RESTAMP_WRITES;
}

/* ---- rejoins --------------------------------------------------------------------------------- */

struct fence_rejoin_reply story_master_rejoin(struct story_master *master,
                                              const struct fence_rejoin_request *request,
                                              uint64_t now_us, struct story_page *page)
{
    struct story_turn turn;
    begin_turn(master, now_us, page, &turn);
    struct fence_rejoin_reply reply = fence_master_rejoin(&turn.rules, request);
    end_turn(master, &turn);
    if (reply.outcome != FENCE_REJOIN_DONE)
        return reply;
    master->memory.writes += request->step == FENCE_REJOIN_RECORD;
    if (request->step == FENCE_REJOIN_MARK || request->step == FENCE_REJOIN_ADMIT)
        master->memory.doubt = false;
    if (request->step == FENCE_REJOIN_RECORD)
        reply.writes = master->memory.writes;
    return reply;
}

static void execute_rejoin(struct story_master *master, const struct story_ask *ask,
                           uint64_t now_us, struct story_reply *reply)
{
    const struct fence_rejoin_request *request = &ask->rejoin.request;
    reply->rejoin = story_master_rejoin(master, request, now_us, &reply->page);
    reply->rejoin.tag = ask->tag;
    reply->view = master->memory.marker.view;
    const bool tells_view =
        reply->rejoin.outcome == FENCE_REJOIN_CHANGED && request->step == FENCE_REJOIN_RECORD;
    reply->rejoin.view = tells_view ? &reply->view : NULL;
}

void story_master_execute(struct story_master *master, const struct story_ask *ask, uint64_t now_us,
                          struct story_reply *ret_reply, struct story_done *ret_done)
{
    ret_reply->kind = ask->kind;
    *ret_done = (struct story_done){.released = false};
    switch (ask->kind) {
    case STORY_LOCK:
        execute_lock(master, ask, now_us, ret_reply, ret_done);
        break;
    case STORY_REJOIN:
        execute_rejoin(master, ask, now_us, ret_reply);
        break;
    case STORY_RESTAMP:
        restamp_marker(master, &ask->rejoin.seen, now_us);
        break;
    default:
        assert(ask->kind == STORY_FACTS || ask->kind == STORY_PROBE);
        hear(master, ask);
        story_master_facts(master, &ret_reply->facts);
        break;
    }
}
