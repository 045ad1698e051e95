/* The kinds of faults: a table of what each does to its victim, and how that is undone. The
 * functions in the table are declared in fault_acts.h. */
#ifndef TESTS_CHAOS_FAULT_KINDS_H
#define TESTS_CHAOS_FAULT_KINDS_H

#include "tests/chaos/absences.h"
#include "tests/chaos/faults.h"
#include "tests/chaos/stage.h"
#include "tests/sim/world/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The victim of a fault. One victim suffers one fault of each target at a time. */
enum fault_target {
    FAULT_OF_MASTER, /* the process, its memory, files and settings */
    FAULT_OF_LINKS,  /* between a master and one pawld or both */
    FAULT_OF_CLOCK,  /* of a master */
    FAULT_OF_PAWLD,
    FAULT_OF_DOOR, /* between the clients and a pawld */
    FAULT_OF_CLIENT,
};

/* The state of the disk of its victim afterwards. */
enum fault_disk {
    FAULT_PLAIN, /* that something was lost, where it was */
    FAULT_OLDER, /* that it has everything. A pawld that saw later writes can tell */
    FAULT_HIDES, /* the same, and no server can tell unless a majority of the others can be asked:
                  * that is no promise of the service */
};

struct fault {
    const struct fault_kind *kind;
    unsigned victim; /* index of the master, pawld or client process */
    unsigned also;   /* OF_LINKS: one more master whose links suffer; else the victim */
    unsigned pawlds; /* OF_LINKS, and of a replaced master: the set of pawld concerned */
    uint64_t until_ms;
    struct chaos_master other; /* the machine before, a copy or a replica; if it has a port */
    unsigned phase;            /* the kind's own */
    unsigned variant;          /* the kind's own */
    size_t mark;          /* the part of the append-only file: what is on the disk for certain */
    uint64_t deadline_ms; /* when it times out, in phases that wait for others */
    bool gave_up;
    uint64_t harmed_ms;   /* if not with its begin: when it harmed the master, ... */
    uint64_t incarnation; /* ... which had this incarnation */
};

struct fault_kind {
    const char *name;
    enum fault_target target;
    unsigned weight;            /* how often, beside the others */
    uint32_t short_ms, long_ms; /* how long it lasts */
    unsigned victims;           /* the set of those it can befall */
    unsigned forgets;           /* the set of masters that forget by it */
    unsigned doubted;           /* the set of masters that may have to rejoin anyway */
    void (*begin)(struct stage *stage, struct sim_rng *rng, struct fault *fault);
    void (*end)(struct stage *stage, struct sim_rng *rng, struct fault *fault); /* or NULL */

    /* When the time is over: goes on, and returns after how many ms to come back; 0: it is to end.
     * NULL: it is to end. @end may come before, and has to undo what was done so far. */
    uint32_t (*go_on)(struct stage *stage, struct sim_rng *rng, struct fault *fault);

    enum fault_disk disk;
};

/* The master after @victim, for faults of two. */
static inline unsigned fault_next(unsigned victim)
{
    return (victim + 1) % STAGE_MASTERS;
}

static inline enum absences_memory fault_memory(const struct fault_kind *kind, unsigned victim)
{
    if (kind->forgets >> victim & 1)
        return ABSENCES_FORGOT;
    return kind->doubted >> victim & 1 ? ABSENCES_DOUBTED : ABSENCES_KEPT;
}

extern const struct fault_kind fault_kinds[FAULT_KINDS];

#endif
