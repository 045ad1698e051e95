#include "tests/chaos/fault_kinds.h"

#include "tests/chaos/proxy.h"
#include "tests/lib/process.h"

#include <signal.h>

enum {
    ALL = 0xff,                 /* of any kind of victim there are no more */
    EVERYSEC = 1 << 2 | 1 << 3, /* as the stage has it */
    VOLATILE = 1 << 4,

    TAIL_MAX = 8 * 1024, /* bytes that an everysec master may lose: far more than a second's */
    DELAY_MAX_MS = 80,   /* past the deadline of a master, too */
    JUMP_MAX_MS = 20 * 1000,
    RATE_MAX_PPM = 500 * 1000,
    RESET_PERMILLE = 300, /* of the links that come back, these begin with a reset */
};

/* ---- masters --------------------------------------------------------------------------------- */

static void kill_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_kill(&stage->master[fault->victim]);
}

static void start_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_start(&stage->master[fault->victim], stage->shim);
    chaos_master_wait_up(&stage->master[fault->victim]);
}

static void start_empty(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_empty(&stage->master[fault->victim]);
    start_master(stage, rng, fault);
}

static void start_cut(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_cut_tail(&stage->master[fault->victim], sim_rng_between(rng, 1, TAIL_MAX));
    start_master(stage, rng, fault);
}

static void flush_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    (void)chaos_master_flush(&stage->master[fault->victim]); /* or not: it counts as forgetful */
}

static void stop_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->master[fault->victim].process, SIGSTOP);
}

static void continue_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->master[fault->victim].process, SIGCONT);
}

/* ---- a replaced master ----------------------------------------------------------------------- */

static void lead_to_new(struct stage *stage, unsigned victim, unsigned pawlds)
{
    for (unsigned i = 0; i < STAGE_PAWLDS; i++) {
        const unsigned link = stage->pawld[i].link[victim];
        if (!(pawlds & 1U << i))
            continue;
        proxy_point(stage->proxy, link, stage->master[victim].port);
        proxy_reset(stage->proxy, link);
    }
}

/* One pawld finds the new machine, the other still talks to the old one. */
static void replace_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    fault->pawlds = 1U << sim_rng_below(rng, STAGE_PAWLDS);
    stage_master_replace(stage, fault->victim, &fault->old);
    lead_to_new(stage, fault->victim, fault->pawlds);
}

static void retire_master(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    lead_to_new(stage, fault->victim, ~fault->pawlds);
    chaos_master_fini(&fault->old);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void hold(struct stage *stage, const struct fault *fault, unsigned directions)
{
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fault->pawlds & 1U << i)
            proxy_hold(stage->proxy, stage->pawld[i].link[fault->victim], directions);
}

static void reset_links(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fault->pawlds & 1U << i)
            proxy_reset(stage->proxy, stage->pawld[i].link[fault->victim]);
}

static void black_hole(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    hold(stage, fault, PROXY_THERE | PROXY_BACK);
}

static void cut_one_way(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    hold(stage, fault, sim_rng_chance(rng, 500) ? PROXY_THERE : PROXY_BACK);
}

static void let_flow(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    if (sim_rng_chance(rng, RESET_PERMILLE))
        reset_links(stage, rng, fault);
    hold(stage, fault, 0);
}

static void refuse(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fault->pawlds & 1U << i)
            proxy_refuse(stage->proxy, stage->pawld[i].link[fault->victim], true);
}

static void accept_again(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fault->pawlds & 1U << i)
            proxy_refuse(stage->proxy, stage->pawld[i].link[fault->victim], false);
}

static void delay_by(struct stage *stage, const struct fault *fault, unsigned delay_ms)
{
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fault->pawlds & 1U << i)
            proxy_delay(stage->proxy, stage->pawld[i].link[fault->victim], delay_ms);
}

static void delay(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    delay_by(stage, fault, sim_rng_between(rng, 1, DELAY_MAX_MS));
}

static void delay_no_more(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    delay_by(stage, fault, 0);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static int64_t either_way(struct sim_rng *rng, uint32_t most)
{
    const int64_t amount = sim_rng_between(rng, 1, most);
    return sim_rng_chance(rng, 500) ? amount : -amount;
}

static void jump(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_set_clock(&stage->master[fault->victim], either_way(rng, JUMP_MAX_MS) * 1000, 0);
}

static void skew(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    chaos_master_set_clock(&stage->master[fault->victim], 0, either_way(rng, RATE_MAX_PPM));
}

static void set_right(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_set_clock(&stage->master[fault->victim], 0, 0);
}

/* ---- pawld, its door, and clients ------------------------------------------------------------ */

static void kill_pawld(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_pawld_kill(stage, fault->victim);
}

static void start_pawld(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_pawld_start(stage, fault->victim);
}

static void stop_pawld(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->pawld[fault->victim].process, SIGSTOP);
}

static void continue_pawld(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->pawld[fault->victim].process, SIGCONT);
}

static void close_door(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    proxy_hold(stage->proxy, stage->pawld[fault->victim].door,
               sim_rng_between(rng, PROXY_THERE, PROXY_THERE | PROXY_BACK));
}

static void open_door(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    proxy_hold(stage->proxy, stage->pawld[fault->victim].door, 0);
}

static void slam_door(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    proxy_reset(stage->proxy, stage->pawld[fault->victim].door);
}

static void stop_client(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->client[fault->victim], SIGSTOP);
}

static void continue_client(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    process_signal(stage->client[fault->victim], SIGCONT);
}

static void kill_client(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_client_kill(stage, fault->victim);
}

static void start_client(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_client_start(stage, fault->victim);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
const struct fault_kind fault_kinds[FAULT_KINDS] = {
    /* name                            target           weight  from    to  victims   forget */
    {"master killed, data kept",       FAULT_OF_MASTER,  16,     50, 1000, ALL,      EVERYSEC | VOLATILE, kill_master, start_master},
    {"master killed, data gone",       FAULT_OF_MASTER,  10,     50, 1000, ALL,      ALL,      kill_master, start_empty},
    {"master killed, tail of AOF cut", FAULT_OF_MASTER,  16,     50, 1000, EVERYSEC, EVERYSEC, kill_master, start_cut},
    {"master flushed",                 FAULT_OF_MASTER,  10,      0,    0, ALL,      ALL,      flush_master, NULL},
    {"master replaced, old one alive", FAULT_OF_MASTER,   8,    500, 3000, ALL,      ALL,      replace_master, retire_master},
    {"master stopped",                 FAULT_OF_MASTER,  10,     20, 3000, ALL,      0,        stop_master, continue_master},
    {"link black-holed",               FAULT_OF_LINKS,   10,     50, 3000, ALL,      0,        black_hole, let_flow},
    {"link cut one way",               FAULT_OF_LINKS,   10,     50, 3000, ALL,      0,        cut_one_way, let_flow},
    {"link reset",                     FAULT_OF_LINKS,   10,      0,    0, ALL,      0,        reset_links, NULL},
    {"link refused",                   FAULT_OF_LINKS,    5,     50, 1500, ALL,      0,        refuse, accept_again},
    {"link delayed",                   FAULT_OF_LINKS,   10,    100, 3000, ALL,      0,        delay, delay_no_more},
    {"clock jumped",                   FAULT_OF_CLOCK,   10,     50, 2000, ALL,      0,        jump, set_right},
    {"clock ran at a wrong rate",      FAULT_OF_CLOCK,   10,    200, 3000, ALL,      0,        skew, set_right},
    {"pawld killed",                   FAULT_OF_PAWLD,    4,     20, 1000, ALL,      0,        kill_pawld, start_pawld},
    {"pawld stopped",                  FAULT_OF_PAWLD,    6,     20, 2500, ALL,      0,        stop_pawld, continue_pawld},
    {"client's link cut",              FAULT_OF_DOOR,     6,     50, 2000, ALL,      0,        close_door, open_door},
    {"client's link reset",            FAULT_OF_DOOR,     6,      0,    0, ALL,      0,        slam_door, NULL},
    {"client stopped",                 FAULT_OF_CLIENT,  12,    100, 2500, ALL,      0,        stop_client, continue_client},
    {"client killed",                  FAULT_OF_CLIENT,   6,     50,  500, ALL,      0,        kill_client, start_client},
};
/* clang-format on */
