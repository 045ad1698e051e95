#include "tests/system/fleet.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/system/masters.h"

#include <stdio.h>

enum {
    WORKERS_MS = 10000, /* for all workers to know all masters */
};

struct redis_fleet *fleet;

int fleet_setup(void **state)
{
    const struct fleet_wanted *wanted = *state;
    fleet_start(wanted->n, wanted->persistence);
    return 0;
}

int fleet_setup_row(void **state)
{
    const struct fleet_row *row = *state;
    fleet_start(row->wanted.n, row->wanted.persistence);
    *state = row->row;
    return 0;
}

int fleet_teardown(void **state)
{
    redis_fleet_free(fleet);
    fleet = NULL;
    process_kill_all();
    return 0;
}

void fleet_start(unsigned n, enum redis_persistence persistence)
{
    assert_null(fleet);
    fleet = redis_fleet_new(n, persistence);
}

void fleet_command(unsigned i, const char *command)
{
    freeReplyObject(redis_fleet_command(fleet, i, command));
}

void fleet_init(unsigned ttl_max_ms)
{
    char ttl_max[16];
    snprintf(ttl_max, sizeof(ttl_max), "%u", ttl_max_ms);
    const char *const options[] = {"--new", "--max-ttl-ms", ttl_max, NULL};
    assert_int_equal(pawl_init(fleet, options), 0);
}

struct pawl_service fleet_serve_early(void)
{
    return pawld_start(fleet, (const char *const[]){FLEET_PROBE, NULL});
}

struct pawl_service fleet_serve(void)
{
    struct pawl_service service = fleet_serve_early();
    pawl_wait_ready(service);
    return service;
}

struct pawl_service fleet_serve_all(void)
{
    struct pawl_service service =
        pawld_start(fleet, (const char *const[]){FLEET_PROBE, FLEET_ASK_ALL, NULL});
    masters_wait_all_active(service.port, fleet->n);
    return service;
}

void fleet_wait_workers(struct pawl_service service, int workers)
{
    char votes[64];
    for (int worker = 1; worker <= workers; worker++)
        for (unsigned master = 1; master <= fleet->n; master++) {
            snprintf(votes, sizeof(votes), " worker %d: master %u .* votes", worker, master);
            process_wait_line(service.process, votes, WORKERS_MS, NULL, 0);
        }
}

struct pawl_service fleet_init_and_serve(unsigned ttl_max_ms)
{
    fleet_init(ttl_max_ms);
    struct pawl_service service = fleet_serve();
    masters_wait_all_active(service.port, fleet->n);
    return service;
}
