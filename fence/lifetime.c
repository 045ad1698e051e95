/* Makes and frees a core. All memory that the core will ever use is allocated here, and nothing in
 * a step. */
#include "fence/base/minmax.h"
#include "fence/core.h"
#include "fence/rejoin/rejoin_state.h"
#include "fence/state/state.h"

#include <stdlib.h>

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t power = 1;
    while (power < at_least)
        power *= 2;
    return power;
}

static int init_tables(struct fence_core *core, const struct fence_config *config)
{
    const uint32_t calls = config->calls;
    int error = fence_timers_init(&core->timers, calls) ? 0 : FENCE_ENOMEM;
    if (!error)
        error = core_wait_queues_init(&core->queues, power_of_two(calls), config->seed);
    if (!error)
        error = core_wait_queues_init(&core->counting, power_of_two(calls), config->seed);
    if (!error)
        error = core_wait_queues_init(&core->watching, power_of_two(calls), config->seed);
    if (!error)
        error =
            core_kept_places_init(&core->kept, power_of_two(core_waiters_max(core)), config->seed);
    if (!error)
        error = core_clients_init(&core->clients, power_of_two(calls));
    if (!error)
        error = core_groups_init(&core->groups, (uint32_t)fence_min(calls, FENCE_GROUPS_MAX));
    if (!error)
        error = core_seats_init(&core->seats, (uint32_t)fence_min(calls, FENCE_SEAT_QUEUES_MAX));
    if (!error)
        error = core_admission_init(&core->admission, calls,
                                    config->owed > 0 ? config->owed : FENCE_OWED_MAX);
    if (!error)
        error = core_cleanups_init(&core->cleanups, (uint32_t)fence_min(calls, FENCE_CLEANUPS_MAX));
    if (!error)
        error = core_counter_hints_init(&core->hints);
    return error;
}

int fence_core_new(const struct fence_config *config, struct fence_core **ret_core)
{
    if (config->masters % 2 == 0 || config->masters > FENCE_MASTERS_MAX || config->calls == 0 ||
        config->calls > FENCE_CALLS_MAX || config->deadline_us > FENCE_MASTER_DEADLINE_MAX_US)
        return FENCE_EINVAL;
    struct fence_core *core = calloc(1, sizeof(*core));
    if (!core)
        return FENCE_ENOMEM;
    core->config = *config;
    core->granted_place = FENCE_NOBODY;
    if (core->config.counters == 0)
        core->config.counters = FENCE_COUNTERS_DEFAULT;
    fence_fleet_init(&core->fleet, config->masters);
    if (config->deadline_us > 0)
        core->fleet.deadline_us = config->deadline_us;

    int error = FENCE_ENOMEM;
    core->calls = calloc(config->calls, sizeof(*core->calls));
    core->rejoins = calloc(config->masters, sizeof(*core->rejoins));
    if (!core->calls || !core->rejoins || !fence_pool_init(&core->pool, config->calls))
        goto out;
    for (unsigned i = 0; i < config->masters; i++)
        core->rejoins[i].due_us = FENCE_NEVER;
    error = init_tables(core, config);
    if (error)
        goto out;
    *ret_core = core;
    core = NULL;
out:
    fence_core_free(core);
    return error;
}

void fence_core_free(struct fence_core *core)
{
    if (!core)
        return;
    fence_timers_fini(&core->timers);
    core_wait_queues_fini(&core->queues);
    core_wait_queues_fini(&core->counting);
    core_wait_queues_fini(&core->watching);
    core_kept_places_fini(&core->kept);
    core_clients_fini(&core->clients);
    core_groups_fini(&core->groups);
    core_seats_fini(&core->seats);
    core_admission_fini(&core->admission);
    core_cleanups_fini(&core->cleanups);
    core_counter_hints_fini(&core->hints);
    fence_pool_fini(&core->pool);
    free(core->rejoins);
    free(core->calls);
    free(core);
}
