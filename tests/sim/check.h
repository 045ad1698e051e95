/* What must hold, whatever went wrong. The history of calls is kept here, and each thing that can
 * break a promise is shown to one of these functions when it happens. The first violation stays. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "tests/sim/account.h"
#include "tests/sim/message.h"

#include <stdbool.h>

enum {
    SIM_VIOLATION_TEXT_MAX = 200,
    SIM_MACHINES_MAX = FENCE_MASTERS_MAX + 2, /* of one world, the replaced ones included */
};

enum sim_call_state {
    SIM_CALL_SENT,      /* by the client */
    SIM_CALL_UNDER_WAY, /* the core knows it */
    SIM_CALL_ANSWERED,
    SIM_CALL_DROPPED, /* its server crashed */
};

struct sim_call {
    enum sim_call_state state;
    enum fence_call_kind kind;
    unsigned client;
    unsigned server;
    uint32_t resource;
    uint32_t lock;
    uint32_t ttl_ms;
    uint32_t wait_ms;
    int64_t token;    /* acquire: granted; extend: the grant's */
    int64_t floor;    /* acquire: the highest token returned for the resource before it began */
    bool hopeless;    /* acquire: begun while a majority had forgotten */
    int error;        /* its answer's */
    bool left;        /* its client has gone, and its server knows */
    bool waited;      /* acquire: behind others, or for a holder */
    uint64_t came_us; /* acquire: true time */
    bool confirming;  /* acquire: its latest attempt needed a second round */
};

struct sim_check {
    bool sane;                              /* clocks are: exclusion must hold too */
    bool lost;                              /* a majority forgot: nothing may be granted */
    char violation[SIM_VIOLATION_TEXT_MAX]; /* "": none */
    uint32_t calls_count;
    struct sim_call calls[SIM_CALLS_MAX];
    struct sim_grants {
        int64_t highest; /* token returned */
        uint32_t count;
        int64_t tokens[SIM_CALLS_MAX];
        uint32_t holder;        /* lock of the latest grant */
        uint64_t held_until_us; /* true time: its validity, or its release */
    } grants[SIM_RESOURCES_MAX];
    int64_t counters[SIM_MACHINES_MAX][SIM_RESOURCES_MAX];
};

void sim_check_init(struct sim_check *check, bool sane);

/* A new call, not yet sent: to be filled in. NULL when the world has had all of its calls. */
struct sim_call *sim_check_new_call(struct sim_check *check);

/* The core is about to be given @call. */
void sim_check_begun(struct sim_check *check, struct sim_call *call);

/* The core answered. @until_us: now and the validity granted or renewed, in true time. */
void sim_check_answered(struct sim_check *check, struct sim_call *call,
                        const struct fence_answer *answer, uint64_t now_us, uint64_t until_us);

/* The holder of @lock gives it up: it sends the release. */
void sim_check_given_up(struct sim_check *check, uint32_t resource, uint32_t lock, uint64_t now_us);

/* The server of @call crashed. */
void sim_check_dropped(struct sim_check *check, struct sim_call *call);

/* The counter of @slot at @machine is @value: it never falls, but where the machine forgot. */
void sim_check_counter(struct sim_check *check, unsigned machine, uint32_t slot, int64_t value);
void sim_check_forgot(struct sim_check *check, unsigned machine, uint32_t slot, int64_t value);

/* A majority forgot; an operator mended it. */
void sim_check_lost(struct sim_check *check);
void sim_check_mended(struct sim_check *check);

void sim_check_account(struct sim_check *check, const struct sim_account *account);

/* By now every call that reached a server must have its answer. */
void sim_check_all_answered(struct sim_check *check);

/* Records a violation; only the first one is kept. */
void sim_check_fail(struct sim_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline bool sim_check_ok(const struct sim_check *check)
{
    return check->violation[0] == '\0';
}

#endif
