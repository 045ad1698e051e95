/* Replication between redis-servers: a master that becomes a replica of an older copy of itself and
 * is promoted back; replicas that only read. */
#include "tests/chaos/fault_acts.h"
#include "tests/chaos/master_replica.h"
#include "tests/chaos/master_settings.h"
#include "tests/lib/wait.h"

enum {
    POLL_MS = 10,
    GIVE_UP_MS = 10000,
    AGE_MIN_MS = 100,
    AGE_MAX_MS = 2500,    /* age of the copy, when the master takes it over */
    REPLICA_MAX_MS = 800, /* how long the master stays a replica, ... */
    SHORT_PERMILLE = 500, /* ... if it is not promoted at once */
};

/* ---- demoted and promoted -------------------------------------------------------------------- */

enum {
    COPYING, /* the copy follows the master */
    AGEING,  /* the copy stands by itself */
    DEMOTED, /* the master follows the copy */
    PROMOTING,
};

void act_copy_begin(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    stage_master_add(stage, fault->victim, REDIS_VOLATILE, &fault->other);
    chaos_master_wait_up(&fault->other);
    chaos_master_follow(&fault->other, stage->master[fault->victim].port);
    fault->deadline_ms = wait_now_ms() + GIVE_UP_MS;
}

uint32_t act_copy_go_on(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    const struct chaos_master *master = &stage->master[fault->victim];
    fault->gave_up = wait_now_ms() > fault->deadline_ms;
    if (fault->gave_up)
        return 0;
    switch (fault->phase) {
    case COPYING:
        if (!chaos_master_follows(&fault->other))
            return POLL_MS;
        chaos_master_lead(&fault->other);
        fault->phase = AGEING;
        return sim_rng_between(rng, AGE_MIN_MS, AGE_MAX_MS);
    case AGEING:
        fault_harms(stage, fault);
        chaos_master_follow(master, fault->other.port);
        fault->phase = DEMOTED;
        return POLL_MS;
    case DEMOTED:
        if (!chaos_master_follows(master))
            return POLL_MS;
        fault->phase = PROMOTING;
        return sim_rng_chance(rng, SHORT_PERMILLE) ? 0 : sim_rng_between(rng, 1, REPLICA_MAX_MS);
    default:
        return 0;
    }
}

void act_copy_end(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)rng;
    chaos_master_lead(&stage->master[fault->victim]);
    chaos_master_wait_rewritten(&stage->master[fault->victim]);
    chaos_master_fini(&fault->other);
}

/* ---- replicas that only read ----------------------------------------------------------------- */

/* Either changes the replication id of a master that never had a replica. Nothing is lost. */
void act_replica_begin(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    const struct chaos_master *master = &stage->master[fault->victim];
    fault->variant = sim_rng_below(rng, 2);
    if (fault->variant == 0) {
        chaos_master_dump(master);
        return;
    }
    stage_master_add(stage, fault->victim, REDIS_VOLATILE, &fault->other);
    chaos_master_wait_up(&fault->other);
    chaos_master_follow(&fault->other, master->port);
}

void act_replica_end(struct stage *stage, struct sim_rng *rng, struct fault *fault)
{
    (void)stage, (void)rng;
    if (fault->variant != 0)
        chaos_master_fini(&fault->other);
}
