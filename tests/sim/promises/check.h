/* The rules, whatever went wrong. The history of calls is kept here, and each thing that can
 * break a promise is shown to one of these functions when it happens. The first violation stays. */
#ifndef TESTS_SIM_PROMISES_CHECK_H
#define TESTS_SIM_PROMISES_CHECK_H

#include "tests/sim/promises/account.h"
#include "tests/sim/promises/broken.h"
#include "tests/sim/promises/closed.h"
#include "tests/sim/promises/counted.h"
#include "tests/sim/promises/grants.h"
#include "tests/sim/world/message.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>

enum {
    SIM_VIOLATION_TEXT_MAX = 200,
    SIM_MACHINES_MAX = FENCE_MASTERS_MAX + 2, /* in one world, the replaced ones included */
};

enum sim_call_state {
    SIM_CALL_SENT,      /* sent by the client */
    SIM_CALL_UNDER_WAY, /* the core knows it */
    SIM_CALL_ANSWERED,
    SIM_CALL_DROPPED, /* its server crashed */
};

struct sim_call {
    enum sim_call_state state;
    enum fence_call_kind kind;
    unsigned client;
    unsigned server;
    struct sim_set set; /* its tokens: acquire: granted; extend: the grant's; watch: known */
    uint32_t lock;
    uint32_t ttl_ms;
    uint32_t delay_ms;        /* acquire, extend: of the lock */
    uint32_t keep_ms;         /* release */
    uint64_t closed_until_us; /* release: if it is done; 0: not known */
    uint32_t wait_ms;
    uint32_t waited_ms;               /* acquire: before, with this lock id */
    uint64_t rank;                    /* acquire: in its line (places.h) */
    bool turned_away;                 /* acquire: its server takes it not */
    uint32_t count;                   /* count: values; 0: it reads */
    unsigned seats;                   /* acquire: of one of so many seats, which its answer puts in
                                       * @set; inspect: of each; 0: of @set */
    enum fence_mode mode;             /* acquire: to read or to write; inspect of readers */
    bool passed;                      /* acquire: a writer that has asked for the seats */
    bool idempotent;                  /* acquire: the lock id is the client's own */
    int64_t above[SIM_RESOURCES_MAX]; /* acquire, extend: the highest tokens returned before it
                                         began, to */
    int64_t least[SIM_RESOURCES_MAX]; /* other lock ids, and to its own; count: the highest value
                                       * that was told */
    int64_t
        broken[SIM_RESOURCES_MAX]; /* acquire, extend: the highest token of its lock id that had
                                    * been broken before it began; extend: 0 if its own had not */
    bool hopeless;                 /* acquire, extend: begun while a majority had forgotten */
    int error;                     /* its answer's */
    bool found;                    /* the same */
    bool anew;                     /* extend: it is a new grant */
    int64_t named_token;           /* extend: by which it was asked for */
    bool unheard;                  /* its answer does not reach the client */
    bool declined;                 /* acquire: and its server knows: it takes the grant back */
    bool left;                     /* its client has gone, and its server knows */
    bool waited;                   /* acquire: behind others, or for a holder */
    bool no_room;                  /* acquire: when it came, as many waited as may */
    uint64_t came_us;              /* acquire, watch: true time */
    uint64_t came_local_us;        /* watch: by its server's clock */
    uint64_t asked_us;             /* acquire: when it last asked masters, or came */
    bool asked;                    /* acquire: it did */
    uint64_t attempt;              /* acquire: the one under way, 0: none; sent to these masters, */
    uint32_t sent;                 /* on these connections */
    uint32_t generation[FENCE_MASTERS_MAX];
    uint32_t named[FENCE_MASTERS_MAX]; /* and answered by each so far: who has the lock, and for */
    uint64_t left_ms[FENCE_MASTERS_MAX]; /* how long */
    uint64_t until_us;                   /* acquire: granted until then, true time */
    bool confirming;                     /* acquire: its latest attempt needed a second round */
};

struct sim_check {
    bool sane;                              /* clocks are: exclusion must hold too */
    bool remembers;                         /* no clock and no master is ever out of order */
    unsigned seats;                         /* the resources are so many seats; 0: they are none */
    bool lost;                              /* a majority forgot: nothing may be granted */
    char violation[SIM_VIOLATION_TEXT_MAX]; /* "": none */
    uint32_t calls_count;
    struct sim_call calls[SIM_CALLS_MAX];
    struct sim_grants grants[SIM_RESOURCES_MAX];
    struct sim_counted counted[SIM_RESOURCES_MAX]; /* the counter named as the resource */
    struct sim_broken broken[SIM_RESOURCES_MAX];
    struct sim_closed closed[SIM_RESOURCES_MAX];
    uint16_t
        asked[SIM_CALLS_MAX]; /* acquires of each lock id: how many acquires there were with it */
    uint8_t given_up[SIM_CALLS_MAX]; /* and of which resources it was released: a set */
    int64_t counters[SIM_MACHINES_MAX][SIM_RESOURCES_MAX];
};

void sim_check_init(struct sim_check *check, const struct sim_plan *plan);

/* A new call, not yet sent: to be filled in. NULL when the world has had all of its calls. */
struct sim_call *sim_check_new_call(struct sim_check *check);

/* The core is about to be given @call. */
void sim_check_begun(struct sim_check *check, struct sim_call *call);

/* The core answered. @until_us: now and the validity granted or renewed, in true time. */
void sim_check_answered(struct sim_check *check, struct sim_call *call,
                        const struct fence_answer *answer, uint64_t now_us, uint64_t until_us);

/* The server of @call crashed. */
void sim_check_dropped(struct sim_check *check, struct sim_call *call);

/* The counter of @slot at @machine is @value: it never falls, but where the machine forgot. */
void sim_check_counter(struct sim_check *check, unsigned machine, uint32_t slot, int64_t value);
void sim_check_forgot(struct sim_check *check, unsigned machine, uint32_t slot, int64_t value);

/* A majority forgot; an operator mended it. */
void sim_check_lost(struct sim_check *check);
void sim_check_mended(struct sim_check *check);

void sim_check_account(struct sim_check *check, const struct sim_account *account);

/* Now now every call that reached a server must have its answer. */
void sim_check_all_answered(struct sim_check *check);

/* How many masters said nothing to the call that @answer is for. */
unsigned sim_check_unheard(const struct fence_answer *answer);

/* Records a violation; only the first one is kept. */
void sim_check_fail(struct sim_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline bool sim_check_ok(const struct sim_check *check)
{
    return check->violation[0] == '\0';
}

#endif
