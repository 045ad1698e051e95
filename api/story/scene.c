#include "api/story/scene.h"

#include "api/story/play.h"
#include "api/story/rng.h"
#include "fence/protocol/message.h"

#include <assert.h>
#include <stddef.h>

enum {
    A = STORY_CLIENT,
    B,
    C,
    M1 = STORY_MASTER,
    M2,
    M3,
    PLAIN = FENCE_MODE_PLAIN,
    READ = FENCE_MODE_READ,
    WRITE = FENCE_MODE_WRITE,
};

/* ---- scenes ---------------------------------------------------------------------------------- */

static const struct story_script scenes[] = {
    {.name = "gc-pause",
     .seed = 33,
     .masters = 3,
     .end_ms = 20000,
     .count = 4,
     .steps = {{500, STORY_OP_TASK, A, PLAIN},
               {2500, STORY_OP_PAUSE, A, 0},
               {4000, STORY_OP_TASK, B, PLAIN},
               {16000, STORY_OP_RESUME, A, 0}}},
    {.name = "delayed-packet",
     .seed = 34,
     .masters = 3,
     .end_ms = 20000,
     .count = 3,
     .steps = {{400, STORY_OP_HOLD, A, 13000},
               {500, STORY_OP_TASK, A, PLAIN},
               {4000, STORY_OP_TASK, B, PLAIN}}},
    {.name = "clock-jump",
     .seed = 35,
     .masters = 3,
     .end_ms = 14000,
     .count = 5,
     .steps = {{400, STORY_OP_WORK, A, 6500},
               {500, STORY_OP_TASK, A, PLAIN},
               {2000, STORY_OP_TASK, B, PLAIN},
               {3500, STORY_OP_CLOCK, M1, 60000},
               {3600, STORY_OP_CLOCK, M2, 60000}}},
    {.name = "failover",
     .seed = 36,
     .masters = 3,
     .end_ms = 16000,
     .count = 6,
     .steps = {{400, STORY_OP_WORK, A, 6000},
               {500, STORY_OP_TASK, A, PLAIN},
               {2000, STORY_OP_FAIL_OVER, M1, 0},
               {4000, STORY_OP_KILL, M2, 0},
               {4500, STORY_OP_TASK, B, PLAIN},
               {12000, STORY_OP_START, M2, 0}}},
    {.name = "reader-writer",
     .seed = 37,
     .masters = 3,
     .end_ms = 24000,
     .count = 7,
     .steps = {{500, STORY_OP_TASK, A, READ},
               {700, STORY_OP_TASK, C, READ},
               {1500, STORY_OP_TASK, B, WRITE},
               {4200, STORY_OP_PAUSE, B, 0},
               {7000, STORY_OP_TASK, A, READ},
               {7200, STORY_OP_TASK, C, READ},
               {19000, STORY_OP_RESUME, B, 0}}},
};

int32_t story_scenes(void)
{
    return (int32_t)(sizeof(scenes) / sizeof(scenes[0]));
}

const struct story_script *story_scene(int32_t n)
{
    return n >= 0 && n < story_scenes() ? &scenes[n] : NULL;
}

/* ---- of a seed ------------------------------------------------------------------------------- */

enum {
    SEED_END_MS = 60 * 1000,
    SEED_STEPS_LEAST = 20,
    SEED_STEPS_MOST = 44,
};

static struct story_script made;

static void add_step(int32_t at_ms, enum story_op op, int32_t whom, int32_t value)
{
    assert(made.count < STORY_STEPS_MAX);
    made.steps[made.count++] = (struct story_step){at_ms, (int32_t)op, whom, value};
}

/* All clients work again and again: in one of three stories as readers and writers. */
static void add_loops(struct story_rng *rng)
{
    const bool shared = story_rng_between(rng, 0, 2) == 0;
    for (int32_t c = 0; c < STORY_CLIENTS; c++) {
        const int32_t mode = !shared ? PLAIN : story_rng_between(rng, 0, 1) ? READ : WRITE;
        add_step((int32_t)story_rng_between(rng, 100, 1500), STORY_OP_LOOP, STORY_CLIENT + c, mode);
    }
}

static void add_of_client(struct story_rng *rng, int32_t at_ms)
{
    static const enum story_op ops[] = {STORY_OP_PAUSE, STORY_OP_RESUME, STORY_OP_RESUME,
                                        STORY_OP_HOLD, STORY_OP_WORK};
    const enum story_op op = ops[story_rng_between(rng, 0, 4)];
    const int32_t whom = STORY_CLIENT + (int32_t)story_rng_between(rng, 0, STORY_CLIENTS - 1);
    const int32_t most = op == STORY_OP_WORK ? 12000 : 20000;
    add_step(at_ms, op, whom, (int32_t)story_rng_between(rng, 0, (uint32_t)most));
}

static void add_of_master(struct story_rng *rng, int32_t at_ms)
{
    static const enum story_op ops[] = {
        STORY_OP_KILL,  STORY_OP_KILL,  STORY_OP_CUT,       STORY_OP_CUT,  STORY_OP_START,
        STORY_OP_START, STORY_OP_START, STORY_OP_START,     STORY_OP_JOIN, STORY_OP_JOIN,
        STORY_OP_JOIN,  STORY_OP_WIPE,  STORY_OP_FAIL_OVER, STORY_OP_CLOCK};
    const enum story_op op = ops[story_rng_between(rng, 0, 13)];
    const int32_t whom = STORY_MASTER + (int32_t)story_rng_between(rng, 0, made.masters - 1);
    add_step(at_ms, op, whom, (int32_t)story_rng_between(rng, 0, 40000) - 20000);
}

const struct story_script *story_seed_script(uint32_t seed)
{
    struct story_rng rng = {.state = ~(uint64_t)seed};
    const uint32_t more = story_rng_between(&rng, SEED_STEPS_LEAST, SEED_STEPS_MOST);
    made = (struct story_script){.name = "",
                                 .seed = seed,
                                 .masters = story_rng_between(&rng, 0, 1) ? 3 : 5,
                                 .end_ms = SEED_END_MS};
    if (story_rng_between(&rng, 0, 3) == 0)
        add_step(50, STORY_OP_GUARD, STORY_DATABASE, 0);
    add_loops(&rng);
    for (uint32_t k = 0; k < more; k++) {
        const int32_t at_ms = 2000 + (int32_t)(k * (SEED_END_MS - 4000) / more);
        if (story_rng_between(&rng, 0, 1))
            add_of_client(&rng, at_ms);
        else
            add_of_master(&rng, at_ms);
    }
    return &made;
}
