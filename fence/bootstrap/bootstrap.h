/* Makes a fleet of masters, has one go on whose majority lost its memory, or closes one that is
 * moved (fence/bootstrap/closing.h): the decisions of `pawld init` and `pawld move`. Pure: the
 * owner carries out one effect, and answers it with one event.
 *
 *   LOOKING --> CLAIMING --all--> [WIPING --> SURVEYING --> WAITING] --> ADMITTING --> ENDED
 *                          |      '--------- token floor ----------'                    ^
 *                          '----> SURVEYING --> READING_LEASES --> CLOSING ------------'
 *
 * Nothing is written before all masters were looked at. A claimed master is "joining" under an
 * incarnation of this run. No server grants from it, and no other server admits it. So a run that
 * breaks off leaves masters that grant nothing. The same run can then be made again.
 *
 * Why tokens cannot go back through it: once all masters are claimed, nothing is granted any more.
 * A token that was granted before is at most FENCE_FLOOR_MARGIN above the operator's number, or
 * above a counter of a survivor. The floor is above both by that margin. */
#ifndef FENCE_BOOTSTRAP_BOOTSTRAP_H
#define FENCE_BOOTSTRAP_BOOTSTRAP_H

#include "fence/bootstrap/run.h"
#include "fence/protocol/error.h"

/* The owner does one of these, and answers it with the event that is named. */
enum fence_bootstrap_act {
    FENCE_BOOTSTRAP_LOOK, /* shake hands with @master: FACTS */
    FENCE_BOOTSTRAP_SEND, /* send @request to @master: REPLY */
    FENCE_BOOTSTRAP_WAIT, /* until @until_us, or until a master is lost: TIME, or LOST */
    FENCE_BOOTSTRAP_END,  /* the run is over: @failure of the machine says how */
};

/* Borrows from the machine, until its next step. */
struct fence_bootstrap_effect {
    enum fence_bootstrap_act act;
    unsigned master;
    struct fence_rejoin_request request;
    uint64_t until_us;
};

enum fence_bootstrap_event_kind {
    FENCE_BOOTSTRAP_BEGIN,
    FENCE_BOOTSTRAP_FACTS,
    FENCE_BOOTSTRAP_REPLY,
    FENCE_BOOTSTRAP_LOST, /* no answer comes from @master, or an error. WAIT: any master is lost */
    FENCE_BOOTSTRAP_TIME,
};

struct fence_bootstrap_event {
    enum fence_bootstrap_event_kind kind;
    uint64_t now_us; /* time on a clock that never goes back and counts while the machine sleeps */
    unsigned master;
    const struct fence_facts *facts;        /* FACTS */
    const struct fence_rejoin_reply *reply; /* REPLY */
};

/* Begins a run with @params (copied); the first event is BEGIN. */
void fence_bootstrap_init(struct fence_bootstrap *bootstrap,
                          const struct fence_bootstrap_params *params);

/* Takes what became of the last effect, and says what to do next. Precondition: no END
 * came before. */
void fence_bootstrap_step(struct fence_bootstrap *bootstrap,
                          const struct fence_bootstrap_event *event,
                          struct fence_bootstrap_effect *ret_effect);

/* How long leases are waited for yet, in milliseconds: a holder may still count on one.
 * Precondition: it waits. */
uint64_t fence_bootstrap_wait_ms(const struct fence_bootstrap *bootstrap, uint64_t now_us);

/* The error of a run that ended:
 * 0               done.
 * FENCE_EINVAL    A parameter is out of bounds.
 * FENCE_ECONFLICT A master is unfit or marked, or another program changed it meanwhile.
 * FENCE_EIO       A master could not be reached, or failed. */
FENCE_CHECKED int fence_bootstrap_error(const struct fence_bootstrap *bootstrap);

#endif
