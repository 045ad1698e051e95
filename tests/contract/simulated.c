/* The master that the simulator has. Names are numbers there, and this is where they are told
 * apart; README.md says what else is not the same. */
#include "fence/protocol/owner.h"
#include "tests/contract/master.h"
#include "tests/sim/masters/master.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 2, /* so that the first resource and the third have one counter, as in the table */
    IDS_MAX = 8,
    NOTICES_MAX = 8,
    FIRST_RUN = 1,
};

struct contract_master {
    struct sim_master sim;
    uint64_t now_us;
    struct sim_reply reply; /* the last */
    int64_t numbers[SIM_RESOURCES_MAX];

    /* By number. */
    char resources[SIM_RESOURCES_MAX][FENCE_RESOURCE_MAX + 1];
    struct {
        char text[FENCE_LOCK_ID_MAX + 1];
        char owner[FENCE_OWNER_MAX + 1];
    } ids[IDS_MAX];

    uint32_t kept_by; /* the last that kept a lock closed */

    struct contract_notice notices[NOTICES_MAX];
    unsigned told;
    unsigned untold;
};

/* ---- names ----------------------------------------------------------------------------------- */

/* The last letter says which one it is. */
static uint32_t number_of_resource(struct contract_master *master, const char *text)
{
    uint32_t number = (uint32_t)(text[strlen(text) - 1] - 'a');
    assert(number < SIM_RESOURCES_MAX);
    snprintf(master->resources[number], sizeof(master->resources[number]), "%s", text);
    return number;
}

static uint32_t number_of_id(struct contract_master *master, const char *text)
{
    uint32_t number = 0;
    if (strcmp(text, FENCE_KEPT_ID) == 0)
        return SIM_KEPT;
    while (master->ids[number].text[0] && strcmp(master->ids[number].text, text) != 0)
        number++;
    assert(number < IDS_MAX - 1);
    snprintf(master->ids[number].text, sizeof(master->ids[number].text), "%s", text);
    return number;
}

/* A label is that of the lock id: the simulator has no others. */
static void name_holder(const struct contract_master *master, struct fence_reply *reply)
{
    if (reply->owner[0] == '\0' || reply->kind == FENCE_REPLY_BROKEN)
        return;
    const bool kept = master->reply.lock == SIM_KEPT;
    reply->owner = master->ids[kept ? master->kept_by : master->reply.lock].owner;
    if (reply->kind == FENCE_REPLY_HELD && !kept)
        reply->holder = master->ids[master->reply.lock].text;
}

static struct sim_request lock_request(struct contract_master *master,
                                       const struct fence_request *request)
{
    struct fence_request named = *request;
    struct fence_group group;
    uint32_t id = request->lock_id[0] ? number_of_id(master, request->lock_id) : 0;
    named.resource = sim_resource_text(number_of_resource(master, request->resource));
    named.lock_id = request->lock_id[0] ? sim_lock_text(id) : "";
    if (request->kind == FENCE_REQUEST_TAKE || request->kind == FENCE_REQUEST_JOIN) {
        snprintf(master->ids[id].owner, sizeof(master->ids[id].owner), "%s", request->owner);
        named.owner = sim_owner_with_delay(id, fence_owner_delay_ms(request->owner));
    }
    if (request->group) {
        group = *request->group;
        for (unsigned k = 0; k < group.count; k++) {
            const char *text = request->group->locks[k].resource;
            snprintf(group.locks[k].resource, sizeof(group.locks[k].resource), "%s",
                     sim_resource_text(number_of_resource(master, text)));
        }
        named.group = &group;
    }
    struct sim_request made = sim_lock_request(&named);
    made.lock.writes = fence_owner_writes(request->owner);
    return made;
}

/* ---- as a master of the contract ------------------------------------------------------------- */

static struct contract_master *simulated_new(bool durable)
{
    struct contract_master *master = calloc(1, sizeof(*master));
    assert(master);
    enum sim_persistence usual = durable ? SIM_ALWAYS : SIM_NONE;
    master->sim = (struct sim_master){
        .clock = {.rate_ppm = SIM_RATE_TRUE_PPM},
        .slots = SLOTS,
        .resources = SIM_RESOURCES_MAX,
        .majority = CONTRACT_MASTERS / 2 + 1,
        .member = CONTRACT_ME,
        .run = FIRST_RUN,
        .lineage = FIRST_RUN,
        .first = FIRST_RUN,
        .harmed = FIRST_RUN,
        .usual = usual,
        .persistence = usual,
    };
    return master;
}

static void simulated_free(struct contract_master *master)
{
    free(master);
}

static void note_freed(struct contract_master *master, const struct fence_request *request)
{
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        if (!(master->reply.freed >> r & 1))
            continue;
        assert(master->untold < NOTICES_MAX);
        struct contract_notice *notice = &master->notices[master->untold++];
        snprintf(notice->lock_id, sizeof(notice->lock_id), "%s", request->lock_id);
        snprintf(notice->resource, sizeof(notice->resource), "%s", master->resources[r]);
    }
}

static struct fence_facts simulated_facts(struct contract_master *master)
{
    struct sim_request asked = {.ask = SIM_ASK_FACTS, .member = CONTRACT_ME};
    master->reply = sim_master_execute(&master->sim, &asked, false, master->now_us);
    return sim_facts(&master->reply);
}

static struct fence_reply simulated_ask(struct contract_master *master,
                                        const struct fence_request *request,
                                        const struct fence_view *view)
{
    struct sim_request made = lock_request(master, request);
    made.member = CONTRACT_ME;
    made.view = *view;
    if (request->kind == FENCE_REQUEST_EXTEND || request->kind == FENCE_REQUEST_JOIN)
        master->sim.extensions = request->extend.extensions_max;
    master->reply = sim_master_execute(&master->sim, &made, false, master->now_us);
    note_freed(master, request);
    if (request->kind == FENCE_REQUEST_RELEASE && request->release.keep_ms > 0 &&
        master->reply.kind == FENCE_REPLY_YES)
        master->kept_by = number_of_id(master, request->lock_id);
    (void)sim_reply_discount(&master->reply);
    struct fence_reply reply = sim_lock_reply(&made, &master->reply);
    if (request->group)
        reply.numbers = master->reply.number; /* also of a group of one */
    name_holder(master, &reply);
    return reply;
}

static struct fence_rejoin_reply simulated_rejoin(struct contract_master *master,
                                                  const struct fence_rejoin_request *request)
{
    struct sim_request made = sim_rejoin_request(request);
    made.member = CONTRACT_ME;
    master->reply = sim_master_execute(&master->sim, &made, false, master->now_us);
    (void)sim_reply_discount(&master->reply);
    return sim_rejoin_reply(&made, &master->reply);
}

static struct fence_facts simulated_restamp(struct contract_master *master,
                                            const struct fence_facts *facts)
{
    struct sim_request made = sim_restamp_request(facts);
    made.member = CONTRACT_ME;
    (void)sim_master_execute(&master->sim, &made, false, master->now_us);
    return simulated_facts(master);
}

static bool simulated_heard(struct contract_master *master, struct contract_notice *ret_notice)
{
    if (master->told == master->untold)
        return false;
    *ret_notice = master->notices[master->told++];
    return true;
}

static void simulated_pass(struct contract_master *master, unsigned ms)
{
    master->now_us += ms * UINT64_C(1000);
}

static void simulated_harm(struct contract_master *master, const struct contract_harming *harming)
{
    struct sim_memory *memory = &master->sim.memory;
    uint32_t slot = sim_master_slot(&master->sim, number_of_resource(master, harming->resource));
    switch (harming->harm) {
    case CONTRACT_FORGET:
        sim_master_flush(&master->sim);
        break;
    case CONTRACT_RENUMBER:
        memory->marker.member = CONTRACT_ME + 1;
        break;
    case CONTRACT_FOLLOW:
        sim_master_change(&master->sim, master->sim.lineage + 1, true);
        break;
    case CONTRACT_SOFTEN:
        sim_master_configure(&master->sim, SIM_EVERYSEC);
        break;
    case CONTRACT_SET_COUNTER:
        memory->counters.slot[slot] = harming->number;
        break;
    case CONTRACT_SET_FLOOR:
        memory->counters.floor = harming->number;
        break;
    default:
        assert(false); /* it has no keys */
    }
}

const struct contract_ops contract_ops = {
    .has_keys = false,
    .has_positions = true,
    .has_settings = true,
    .new = simulated_new,
    .free = simulated_free,
    .facts = simulated_facts,
    .ask = simulated_ask,
    .rejoin = simulated_rejoin,
    .restamp = simulated_restamp,
    .heard = simulated_heard,
    .pass = simulated_pass,
    .harm = simulated_harm,
};
