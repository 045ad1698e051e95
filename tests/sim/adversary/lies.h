/* The words of the masters. Anything that storage/ could make of their bytes, whether or not any
 * Redis could have come to say it: markers of other fleets, views that no fleet agreed on,
 * incarnations at their ends, numbers that go back, holders that change.
 *
 * In an honest play, they say what a fleet in good order might say, in some order: without
 * that nothing would be granted, and not much of the core be reached. */
#ifndef TESTS_SIM_ADVERSARY_LIES_H
#define TESTS_SIM_ADVERSARY_LIES_H

#include "fence/core.h"
#include "tests/sim/adversary/links.h"

enum {
    LIES_PAGE_MAX = 64,
};

/* Memory that replies point to: valid until the next one is made up. */
struct lies {
    struct fence_view view;
    char page[LIES_PAGE_MAX];
    int64_t numbers[FENCE_GROUP_MAX];
};

void lies_init(struct lies *lies);

/* The findings of a handshake with master @i. */
void lies_facts(struct play *play, unsigned i, struct fence_facts *ret_facts);

/* The findings of a probe of a master: @event is a HEARD. */
void lies_heard(struct play *play, struct fence_event *event);

/* The reply to @request. Never LOST: that is the connection's to say. */
void lies_reply(struct play *play, const struct link_request *request,
                struct fence_reply *ret_reply);

/* The same for a step of a rejoin. LOST stands for an error of the master here. */
void lies_rejoin(struct play *play, const struct link_request *request,
                 struct fence_rejoin_reply *ret_reply);

#endif
