/* The answers to clients. Each call gets one answer, of its own kind; that its client left,
 * if it did, and nothing else then. A grant was agreed to by a majority, names all masters that its
 * lock may be on, and is valid for at most its TTL. */
#ifndef TESTS_SIM_ADVERSARY_ANSWERS_H
#define TESTS_SIM_ADVERSARY_ANSWERS_H

#include "fence/core.h"

#include <stdbool.h>
#include <stdint.h>

struct play;

enum {
    ANSWERS_ATTEMPTS = 4096, /* remembered: more than are under way, if not all of a play */
};

struct answers {
    struct answers_attempt {
        uint64_t attempt;
        uint32_t masters; /* that were asked for the lock by it */
    } attempts[ANSWERS_ATTEMPTS];

    bool declines; /* the last grant: its client is gone */
    struct fence_taken declined;
    struct fence_group declined_group;
    char declined_resource[FENCE_RESOURCE_MAX + 1];
    char declined_id[FENCE_LOCK_ID_MAX + 1];
};

void answers_init(struct answers *answers);

/* The core sends @request to @masters. */
void answers_sent(struct play *play, const struct fence_request *request, uint32_t masters);

/* The core answers. */
void answers_check(struct play *play, const struct fence_answer *answer);

/* True if a grant in the last step is to be declined: by @ret_event, valid until the next step. */
bool answers_decline(struct play *play, struct fence_event *ret_event);

#endif
