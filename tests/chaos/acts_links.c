#include "tests/chaos/fault_acts.h"
#include "tests/chaos/proxy.h"

enum {
    DELAY_MAX_MS = 80, /* past the deadline of a master, too */
    SLOW_MIN_MS = 5,   /* each way: slow, and in time */
    SLOW_MAX_MS = 15,
    RESET_PERMILLE = 300, /* share of the links that come back, these begin with a reset */
};

static void hold(struct stage *stage, const struct fault *fault, unsigned directions)
{
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fault->pawlds & 1U << i)
            proxy_hold(stage->proxy, stage->pawld[i].link[fault->victim], directions);
}

static void delay_by(struct stage *stage, const struct fault *fault, unsigned delay_ms)
{
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fault->pawlds & 1U << i)
            proxy_delay(stage->proxy, stage->pawld[i].link[fault->victim], delay_ms);
}

static void refuse(struct stage *stage, const struct fault *fault, bool refuses)
{
    for (unsigned i = 0; i < STAGE_PAWLDS; i++) {
        if (!(fault->pawlds & 1U << i))
            continue;
        proxy_refuse(stage->proxy, stage->pawld[i].link[fault->victim], refuses);
        if (fault->also != fault->victim)
            proxy_refuse(stage->proxy, stage->pawld[i].link[fault->also], refuses);
    }
}

void act_reset_links(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fault->pawlds & 1U << i)
            proxy_reset(stage->proxy, stage->pawld[i].link[fault->victim]);
}

void act_black_hole(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    hold(stage, fault, PROXY_THERE | PROXY_BACK);
}

void act_cut_one_way(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    hold(stage, fault, sim_rng_chance(rng, 500) ? PROXY_THERE : PROXY_BACK);
}

void act_let_flow(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    if (sim_rng_chance(rng, RESET_PERMILLE))
        act_reset_links(stage, rng, fault);
    hold(stage, fault, 0);
}

void act_refuse(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    refuse(stage, fault, true);
}

/* Grants of one pawld from now on stand on the other masters only. */
void act_cut_two(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    fault->also = fault_next(fault->victim);
    fault->pawlds = 1U << sim_rng_below(rng, STAGE_PAWLDS);
    refuse(stage, fault, true);
}

void act_accept_again(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    refuse(stage, fault, false);
}

void act_delay(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    delay_by(stage, fault, sim_rng_between(rng, 1, DELAY_MAX_MS));
}

/* For all, and for so long that it is not asked first any more, and comes back later. */
void act_slow(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    fault->pawlds = (1U << STAGE_PAWLDS) - 1;
    delay_by(stage, fault, sim_rng_between(rng, SLOW_MIN_MS, SLOW_MAX_MS));
}

void act_delay_no_more(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    delay_by(stage, fault, 0);
}
