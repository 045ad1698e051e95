#include "tests/chaos/fault_acts.h"
#include "tests/chaos/proxy.h"
#include "tests/lib/process.h"

#include <signal.h>

enum {
    JUMP_MAX_MS = 20 * 1000,
    RATE_MAX_PPM = 500 * 1000,
};

/* ---- clocks ---------------------------------------------------------------------------------- */

static int64_t either_way(struct sim_rng *rng, uint32_t most)
{
    const int64_t amount = sim_rng_between(rng, 1, most);
    return sim_rng_chance(rng, 500) ? amount : -amount;
}

void act_jump(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_set_clock(&stage->master[fault->victim], either_way(rng, JUMP_MAX_MS) * 1000, 0);
}

void act_skew(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_set_clock(&stage->master[fault->victim], 0, either_way(rng, RATE_MAX_PPM));
}

void act_set_right(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_set_clock(&stage->master[fault->victim], 0, 0);
}

/* ---- pawld, its door, and clients ------------------------------------------------------------ */

void act_kill_pawld(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_pawld_kill(stage, fault->victim);
}

void act_start_pawld(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_pawld_start(stage, fault->victim);
}

void act_stop_pawld(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->pawld[fault->victim].process, SIGSTOP);
}

void act_continue_pawld(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->pawld[fault->victim].process, SIGCONT);
}

void act_close_door(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    proxy_hold(stage->proxy, stage->pawld[fault->victim].door,
               sim_rng_between(rng, PROXY_THERE, PROXY_THERE | PROXY_BACK));
}

void act_open_door(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    proxy_hold(stage->proxy, stage->pawld[fault->victim].door, 0);
}

void act_slam_door(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    proxy_reset(stage->proxy, stage->pawld[fault->victim].door);
}

void act_stop_client(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->client[fault->victim], SIGSTOP);
}

void act_continue_client(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->client[fault->victim], SIGCONT);
}

void act_kill_client(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_client_kill(stage, fault->victim);
}

void act_start_client(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_client_start(stage, fault->victim);
}
