/* A simulated master: what the scripts of the protocol do to the keys, as data. It never loses
 * anything but locks, whose time may come at any moment. */
#ifndef SIM_MASTER_H
#define SIM_MASTER_H

#include "tests/sim/clock.h"
#include "tests/sim/message.h"

#include <stdbool.h>

struct sim_lock {
    bool present;
    uint32_t lock;
    uint32_t extensions;
    uint64_t attempt;
    int64_t number;
    uint64_t expires_us; /* by the master's own clock */
};

struct sim_master {
    struct sim_clock clock;
    uint32_t slots;      /* counters in use: resource r counts in slot r mod slots */
    uint32_t extensions; /* cap on the extensions of one grant */
    uint32_t run_id;
    uint32_t marked_run_id;
    uint64_t stopped_until_us; /* true time; 0: runs */
    int64_t counters[SIM_RESOURCES_MAX];
    struct sim_lock locks[SIM_RESOURCES_MAX];
};

void sim_master_init(struct sim_master *master, const struct sim_clock *clock, uint32_t slots,
                     uint32_t extensions);

/* The slot whose counter gives @resource its numbers. */
uint32_t sim_master_slot(const struct sim_master *master, uint32_t resource);

/* The lock of @resource goes, as if its time had come. False if there was none. */
bool sim_master_expire(struct sim_master *master, uint32_t resource);

/* Executes @request at true time @now_us, wholly and at once. */
struct sim_reply sim_master_execute(struct sim_master *master, const struct sim_request *request,
                                    uint64_t now_us);

#endif
