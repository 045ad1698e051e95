/* The kinds of faults: a table of what each does to its victim, and how that is undone. */
#ifndef TESTS_CHAOS_FAULT_KINDS_H
#define TESTS_CHAOS_FAULT_KINDS_H

#include "tests/chaos/faults.h"
#include "tests/chaos/stage.h"
#include "tests/sim/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* Whom a fault befalls. One victim suffers one fault of each target at a time. */
enum fault_target {
    FAULT_OF_MASTER, /* the process and its memory */
    FAULT_OF_LINKS,  /* between a master and one pawld or both */
    FAULT_OF_CLOCK,  /* of a master */
    FAULT_OF_PAWLD,
    FAULT_OF_DOOR, /* between the clients and a pawld */
    FAULT_OF_CLIENT,
};

struct fault {
    const struct fault_kind *kind;
    unsigned victim; /* index of the master, pawld or client process */
    unsigned pawlds; /* OF_LINKS, and of a replaced master: the set of pawld concerned */
    uint64_t until_ms;
    struct chaos_master old; /* of a replaced master: the machine before */
};

struct fault_kind {
    const char *name;
    enum fault_target target;
    unsigned weight;            /* how often, beside the others */
    uint32_t short_ms, long_ms; /* how long it lasts */
    unsigned victims;           /* the set of those it can befall */
    unsigned forgets;           /* the set of masters that forget by it */
    void (*begin)(struct stage *stage, struct sim_rng *rng, struct fault *fault);
    void (*end)(struct stage *stage, struct sim_rng *rng, struct fault *fault); /* or NULL */
};

extern const struct fault_kind fault_kinds[FAULT_KINDS];

#endif
