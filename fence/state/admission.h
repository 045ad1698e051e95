/* Admission control: makes calls wait, before their first request, until the masters owe fewer
 * answers.
 *
 * Within its deadline a master answers a limited number of requests. Further requests would make
 * all answers late. So the core counts the locks that a majority owes answers for, clean-ups
 * included. If there are too many, a call waits in a queue, in the order of arrival. Each class of
 * calls has its own queue and its own limit, so that no class blocks another:
 *
 * - several resources at once: a small part, since each such call asks for up to FENCE_GROUP_MAX;
 * - one resource: acquire and inspect;
 * - holders: extend and release; and the break of a grant. They go on while other calls wait.
 *
 * A queue holds calls by their index. Nothing is allocated after init; each operation is O(1). */
#ifndef FENCE_STATE_ADMISSION_H
#define FENCE_STATE_ADMISSION_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

enum core_class {
    CORE_CLASS_HOLDER,
    CORE_CLASS_SINGLE,
    CORE_CLASS_GROUP,
    CORE_CLASSES,
};

struct core_admission {
    struct core_admission_place {
        uint32_t before;
        uint32_t behind;
    } * places; /* one for each call */
    uint32_t first[CORE_CLASSES];
    uint32_t last[CORE_CLASSES];
    uint32_t limit[CORE_CLASSES]; /* locks that a majority owes answers for, beyond which calls
                                   * wait */
};

/* Makes queues for calls numbered 0 .. @capacity - 1. Calls for one resource wait while a majority
 * owes answers for @owed locks or more. FENCE_ENOMEM. */
FENCE_CHECKED int core_admission_init(struct core_admission *admission, uint32_t capacity,
                                      uint32_t owed);
void core_admission_fini(struct core_admission *admission);

/* Adds call @index, which is in no class, at the end of @class. */
void core_admission_join(struct core_admission *admission, enum core_class class, uint32_t index);

/* Removes call @index from @class. */
void core_admission_leave(struct core_admission *admission, enum core_class class, uint32_t index);

/* Returns the call that has waited longest in @class; FENCE_NOBODY if there is none. */
uint32_t core_admission_first(const struct core_admission *admission, enum core_class class);

#endif
