/* What one seed is made of: how many of everything, and what goes wrong how often.
 *
 * Not every fault in every world: what is always there hides what needs its absence. So each world
 * has its own choice of faults, each with its own rate ("Swarm testing", Groce et al. 2012). */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "tests/sim/rng.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_SERVERS_MAX = 3,
    SIM_CLIENTS_MAX = 5,
};

enum sim_fault {
    /* for each message */
    SIM_FAULT_SLOW,         /* it takes long, perhaps longer than any lease */
    SIM_FAULT_DUPLICATE,    /* a request is executed again, some time later */
    SIM_FAULT_REPLAY,       /* an earlier request is executed again, just before this one */
    SIM_FAULT_BREAK,        /* the connection ends: some of what is on its way arrives, some not */
    SIM_FAULT_HALF_OPEN,    /* the same, and nobody is told */
    SIM_FAULT_VANISH,       /* the lock that it is about goes just before: a clock did anything */
    SIM_FAULT_MASTER_STOP,  /* where a request arrives, and continues later */
    SIM_FAULT_SERVER_PAUSE, /* where a reply arrives */
    /* for each turn of a client */
    SIM_FAULT_CLIENT_PAUSE,
    SIM_FAULT_CLIENT_LEAVES,
    /* now and then */
    SIM_FAULT_MASTER_RESTART, /* with all its data */
    SIM_FAULT_CUT,            /* some masters cannot be reached from one server, for a while */
    SIM_FAULTS,
};

struct sim_plan {
    unsigned masters;
    unsigned servers;
    unsigned clients;
    unsigned resources;
    unsigned slots;      /* fewer than resources: some share a counter */
    unsigned rounds;     /* acquires a client */
    unsigned extensions; /* cap */
    unsigned calls;      /* a core takes at a time */
    uint32_t ttl_low_ms;
    uint32_t ttl_high_ms;
    uint32_t think_us; /* at most, between two acts of a client */
    uint32_t delay_low_us;
    uint32_t delay_high_us;
    unsigned slowness;  /* some connections are slower than others: 2 to at most this power */
    uint32_t slow_us;   /* at most, a slow message and a late duplicate */
    uint32_t outage_us; /* at most, a stop, a pause, a cut */
    uint32_t fault_us;  /* between two chances of the faults "now and then" */

    /* Clocks keep within the drift bound and locks last as long as they should: only here can
     * exclusion hold. Elsewhere clocks run as they like, and only the order of tokens is left. */
    bool sane;
    uint32_t permille[SIM_FAULTS];
};

/* Draws the plan of a world from @rng. @masters: 0 draws that too. */
void sim_plan_draw(struct sim_plan *plan, struct sim_rng *rng, unsigned masters);

/* The rate of a clock in this world, for sim_clock. */
uint32_t sim_plan_draw_rate(const struct sim_plan *plan, struct sim_rng *rng);

const char *sim_fault_name(enum sim_fault fault);

#endif
