/* The effect of CONFIG SET on a master that keeps, or does not keep, what it said. Each setting is
 * set back by the operator, or by a restart with the usual configuration. */
#include "tests/chaos/fault_acts.h"
#include "tests/chaos/master_files.h"
#include "tests/chaos/master_settings.h"

#include <stdio.h>

enum {
    NO_FSYNC_PERMILLE = 300, /* share of the weakened ones: no fsync at all, not every second */
    NEVER_KEY_US = 1000000,  /* a rewrite takes so long for each key: it does not end in time ... */
    SLOW_KEY_US = 100000,    /* ... or may end */
    ROOMY_BYTES = 1 << 30,   /* a limit that evicts nothing */
};

/* ---- appendonly ------------------------------------------------------------------------------ */

void act_append_off(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_append_off(&stage->master[fault->victim]);
}

void act_append_on(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_append_on(&stage->master[fault->victim]);
    chaos_master_wait_rewritten(&stage->master[fault->victim]);
}

void act_restart(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_kill(&stage->master[fault->victim]);
    act_start_master(stage, rng, fault);
}

/* Replies of the master during the rewrite stand in no file that a restart reads. */
void act_append_on_killed(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    chaos_master_slow_rewrites(master, NEVER_KEY_US);
    chaos_master_append_on(master);
    act_restart(stage, rng, fault);
}

/* ---- fsync ----------------------------------------------------------------------------------- */

/* All that stands in the file by now is on the disk. */
void act_weaken_fsync(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    chaos_master_set(master, "appendfsync",
                     sim_rng_chance(rng, NO_FSYNC_PERMILLE) ? "no" : "everysec");
    fault->mark = chaos_master_tail(master);
}

void act_strengthen_fsync(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_set(&stage->master[fault->victim], "appendfsync", "always");
}

/* The power fails: some of what was written since the mark is not on the disk. */
void act_lose_power(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    fault_harms(stage, fault);
    chaos_master_kill(master);
    const size_t size = chaos_master_tail(master);
    if (size > fault->mark)
        chaos_master_cut_tail(master, sim_rng_between(rng, 1, (uint32_t)(size - fault->mark)));
    act_start_master(stage, rng, fault);
}

/* A rewrite begins a new part, which is not on the disk before the rewrite ended. */
void act_rewrite_without_fsync(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    (void)rng;
    chaos_master_wait_rewritten(master);
    chaos_master_slow_rewrites(master, SLOW_KEY_US);
    chaos_master_set(master, "no-appendfsync-on-rewrite", "yes");
    chaos_master_rewrite(master);
}

void act_lose_power_in_rewrite(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    fault->mark = chaos_master_rewrites(master) ? 0 : SIZE_MAX; /* over: all was synced */
    act_lose_power(stage, rng, fault);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const char *any_policy(struct sim_rng *rng)
{
    static const char *const policies[] = {"volatile-lru", "volatile-ttl", "volatile-random"};
    return policies[sim_rng_below(rng, sizeof(policies) / sizeof(policies[0]))];
}

void act_crowd(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_crowd(&stage->master[fault->victim], any_policy(rng));
}

void act_uncrowd(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_uncrowd(&stage->master[fault->victim]);
}

void act_evict_and_hide(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    act_crowd(stage, rng, fault);
    act_uncrowd(stage, rng, fault);
    chaos_master_reset_statistics(&stage->master[fault->victim]);
}

void act_allow_eviction(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    char limit[16];
    snprintf(limit, sizeof(limit), "%d", ROOMY_BYTES);
    chaos_master_set(&stage->master[fault->victim], "maxmemory-policy", any_policy(rng));
    chaos_master_set(&stage->master[fault->victim], "maxmemory", limit);
}
