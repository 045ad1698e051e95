#include "tests/chaos/fault_acts.h"
#include "tests/chaos/master_files.h"
#include "tests/chaos/master_settings.h"
#include "tests/lib/process.h"

#include <signal.h>

enum {
    TAIL_MAX = 8 * 1024, /* bytes that an everysec master may lose: far more than a second's */
};

void act_kill_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_kill(&stage->master[fault->victim]);
}

void act_start_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_start(&stage->master[fault->victim], stage->shim);
    chaos_master_wait_up(&stage->master[fault->victim]);
}

void act_start_empty(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_empty(&stage->master[fault->victim]);
    act_start_master(stage, rng, fault);
}

void act_start_cut(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_cut_tail(&stage->master[fault->victim], sim_rng_between(rng, 1, TAIL_MAX));
    act_start_master(stage, rng, fault);
}

void act_flush_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    (void)chaos_master_flush(&stage->master[fault->victim]); /* or not: it counts as forgetful */
}

void act_stop_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->master[fault->victim].process, SIGSTOP);
}

void act_continue_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->master[fault->victim].process, SIGCONT);
}

/* ---- a replaced master ----------------------------------------------------------------------- */

/* One pawld finds the new machine, the other still talks to the old one. */
void act_replace_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    fault->pawlds = 1U << sim_rng_below(rng, STAGE_PAWLDS);
    stage_master_replace(stage, fault->victim, &fault->other);
    stage_master_point(stage, fault->victim, fault->pawlds, stage->master[fault->victim].port);
}

void act_retire_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_master_point(stage, fault->victim, ~fault->pawlds, stage->master[fault->victim].port);
    chaos_master_fini(&fault->other);
}
