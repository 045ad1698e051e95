/* A real Sentinel promotes a replica that lags, and later the old master again. The address of the
 * master leads to the promoted one meanwhile. */
#include "tests/chaos/fault_acts.h"
#include "tests/chaos/master_replica.h"
#include "tests/chaos/master_settings.h"
#include "tests/chaos/proxy.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <stdio.h>

enum {
    ALL_PAWLDS = (1 << STAGE_PAWLDS) - 1,

    POLL_MS = 20,
    GIVE_UP_MS = 15000,
    LAG_MIN_MS = 20,
    LAG_MAX_MS = 800, /* lag: the words of the master in this time the replica does not know */
    STAY_MIN_MS = 100,
    STAY_MAX_MS = 1500, /* at the promoted one */
    KILL_PERMILLE = 600,
};

enum {
    SYNCING, /* the replica reads the master */
    WATCHED, /* Sentinel looks for the replica */
    LAGGING, /* output for the replica is held */
    FAILING_OVER,
    FAILED_OVER,
    RETURNING,    /* the old master reads the promoted one */
    BACK_WATCHED, /* Sentinel looks for the old master */
    FAILING_BACK,
};

enum {
    KILLED = 1,    /* the master dies, and Sentinel notices; else somebody tells it */
    RESTARTED = 2, /* the promoted one, before the address leads to it */
};

struct name {
    char text[16];
};

static struct name name_of(const struct fault *fault)
{
    struct name name;
    snprintf(name.text, sizeof(name.text), "master-%u", fault->victim + 1);
    return name;
}

static void begin(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    const struct chaos_master *master = &stage->master[fault->victim];
    fault->variant |= sim_rng_chance(rng, KILL_PERMILLE) ? KILLED : 0;
    stage_master_add(stage, fault->victim, master->persistence, &fault->other);
    chaos_master_wait_up(&fault->other);
    chaos_master_follow(&fault->other, proxy_port(stage->proxy, stage->feed[fault->victim]));
    fault->deadline_ms = wait_now_ms() + GIVE_UP_MS;
}

void act_sentinel_begin(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    begin(stage, rng, fault);
}

void act_sentinel_restart_begin(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    fault->variant = RESTARTED;
    begin(stage, rng, fault);
}

/* ---- over ------------------------------------------------------------------------------------ */

/* A restart brings back what stands in the append-only file, so that has to be whole. */
static uint32_t watch(struct stage *stage, struct fault *fault)
{
    if (!chaos_master_follows(&fault->other))
        return POLL_MS;
    chaos_master_wait_rewritten(&fault->other);
    sentinel_watch(&stage->sentinel, name_of(fault).text, stage->master[fault->victim].port);
    fault->phase = WATCHED;
    return POLL_MS;
}

static uint32_t hold_feed(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    if (!sentinel_knows(&stage->sentinel, name_of(fault).text, fault->other.port))
        return POLL_MS;
    proxy_hold(stage->proxy, stage->feed[fault->victim], PROXY_THERE | PROXY_BACK);
    fault->phase = LAGGING;
    return sim_rng_between(rng, LAG_MIN_MS, LAG_MAX_MS);
}

static uint32_t fail_over(struct stage *stage, struct fault *fault)
{
    fault_harms(stage, fault);
    if (fault->variant & KILLED)
        chaos_master_kill(&stage->master[fault->victim]);
    else
        sentinel_fail_over(&stage->sentinel, name_of(fault).text);
    proxy_refuse(stage->proxy, stage->feed[fault->victim], true);
    fault->phase = FAILING_OVER;
    return POLL_MS;
}

static uint32_t lead_over(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    if (sentinel_master(&stage->sentinel, name_of(fault).text) != fault->other.port)
        return POLL_MS;
    if (fault->variant & RESTARTED) {
        chaos_master_kill(&fault->other);
        chaos_master_start(&fault->other, stage->shim);
        chaos_master_wait_up(&fault->other);
    }
    stage_master_point(stage, fault->victim, fault->pawlds, fault->other.port);
    fault->phase = FAILED_OVER;
    return sim_rng_between(rng, STAY_MIN_MS, STAY_MAX_MS);
}

/* ---- and back -------------------------------------------------------------------------------- */

static uint32_t come_back(struct stage *stage, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    stage_master_point(stage, fault->victim, ALL_PAWLDS & ~fault->pawlds, fault->other.port);
    if (!master->process)
        chaos_master_start(master, stage->shim);
    chaos_master_wait_up(master);
    chaos_master_follow(master, fault->other.port);
    fault->phase = RETURNING;
    return POLL_MS;
}

/* Sentinel would find the old master as a replica by itself, but only after many seconds. */
static uint32_t watch_again(struct stage *stage, struct fault *fault)
{
    if (!chaos_master_follows(&stage->master[fault->victim]))
        return POLL_MS;
    sentinel_forget(&stage->sentinel, name_of(fault).text);
    sentinel_watch(&stage->sentinel, name_of(fault).text, fault->other.port);
    fault->phase = BACK_WATCHED;
    return POLL_MS;
}

static uint32_t fail_back(struct stage *stage, struct fault *fault)
{
    const struct name name = name_of(fault);
    if (!sentinel_knows(&stage->sentinel, name.text, stage->master[fault->victim].port))
        return POLL_MS;
    fault_harms(stage, fault);
    sentinel_fail_over(&stage->sentinel, name.text);
    fault->phase = FAILING_BACK;
    return POLL_MS;
}

uint32_t act_sentinel_go_on(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    const uint16_t port = stage->master[fault->victim].port;
    fault->gave_up = wait_now_ms() > fault->deadline_ms;
    if (fault->gave_up)
        return 0;
    switch (fault->phase) {
    case SYNCING:
        return watch(stage, fault);
    case WATCHED:
        return hold_feed(stage, rng, fault);
    case LAGGING:
        return fail_over(stage, fault);
    case FAILING_OVER:
        return lead_over(stage, rng, fault);
    case FAILED_OVER:
        return come_back(stage, fault);
    case RETURNING:
        return watch_again(stage, fault);
    case BACK_WATCHED:
        return fail_back(stage, fault);
    default:
        return sentinel_master(&stage->sentinel, name_of(fault).text) == port ? 0 : POLL_MS;
    }
}

static bool is_following(void *arg)
{
    return chaos_master_follows(arg);
}

/* As Sentinel has it: a master that was failed over never comes back but as a replica first. */
static void bring_back(struct chaos_master *master, const struct fault *fault)
{
    if (fault->phase < FAILED_OVER || (fault->phase == FAILING_BACK && chaos_master_leads(master)))
        return;
    chaos_master_follow(master, fault->other.port);
    if (!wait_until(is_following, master, GIVE_UP_MS))
        fail_msg("master %u does not follow the promoted one", fault->victim + 1);
}

void act_sentinel_end(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    (void)rng;
    sentinel_forget(&stage->sentinel, name_of(fault).text);
    if (!master->process)
        chaos_master_start(master, stage->shim);
    chaos_master_wait_up(master);
    bring_back(master, fault);
    chaos_master_lead(master);
    chaos_master_wait_rewritten(master);
    fault_harms(stage, fault); /* the promoted one may have rejoined meanwhile */
    stage_master_point(stage, fault->victim, ALL_PAWLDS, master->port);
    proxy_hold(stage->proxy, stage->feed[fault->victim], 0);
    proxy_refuse(stage->proxy, stage->feed[fault->victim], false);
    chaos_master_fini(&fault->other);
}
