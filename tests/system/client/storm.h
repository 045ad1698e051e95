/* The faults of believers, of two pawlds and to three masters while locks are taken: one master
 * and one pawld are out at a time, but for now and then when both pawlds hang past every lease. */
#ifndef TESTS_SYSTEM_CLIENT_STORM_H
#define TESTS_SYSTEM_CLIENT_STORM_H

#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/system/client/belief.h"

#include <stddef.h>
#include <stdint.h>

enum {
    STORM_SERVERS = 2,
    STORM_BELIEVERS_MAX = 8,
    STORM_STOPS_MAX = 1000,
    STORM_LEASE_MOST_MS = 2000, /* the wish of a believer */
};

enum storm_fault {
    STORM_MASTER_KILLED,
    STORM_MASTER_STOPPED,
    STORM_SERVER_KILLED,
    STORM_SERVER_STOPPED,
    STORM_SERVERS_STOPPED, /* both, for longer than a lease */
    STORM_FAULTS,
};

struct storm {
    struct redis_fleet *fleet;
    struct pawl_service server[STORM_SERVERS];
    const char *const *server_options;
    struct process *believer[STORM_BELIEVERS_MAX];
    char *belief_file[STORM_BELIEVERS_MAX];
    unsigned believers;

    unsigned faults[STORM_FAULTS]; /* how many there were of each */
    struct belief_stop stops[STORM_STOPS_MAX];
    size_t stop_count;
    struct belief_absence absences[STORM_STOPS_MAX]; /* absences of masters, in the order of time */
    size_t absence_count;
};

/* Runs for @seconds, drawing from @seed. All processes go on when it returns, and are up. */
void storm_run(struct storm *storm, unsigned seconds, uint64_t seed);

#endif
