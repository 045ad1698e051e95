/* Older or damaged files under a master that has said newer things. */
#include "tests/chaos/fault_acts.h"
#include "tests/chaos/master_files.h"
#include "tests/chaos/master_settings.h"

enum {
    TAIL_MAX = 8 * 1024, /* bytes at the end of the append-only file that may be damaged */
};

/* A copy while Redis rewrites its append-only file may lack a part of it. */
void act_copy_files(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_wait_rewritten(&stage->master[fault->victim]);
    chaos_master_copy(&stage->master[fault->victim]);
}

void act_snapshot(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_wait_rewritten(&stage->master[fault->victim]);
    chaos_master_snapshot(&stage->master[fault->victim]);
}

void act_put_back(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    fault_harms(stage, fault);
    chaos_master_kill(master);
    chaos_master_put_back(master);
    act_start_master(stage, rng, fault);
}

void act_start_mended(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    struct chaos_master *master = &stage->master[fault->victim];
    chaos_master_damage_tail(master, sim_rng_between(rng, 1, TAIL_MAX));
    chaos_master_mend(master);
    act_start_master(stage, rng, fault);
}
