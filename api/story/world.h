/* The world of the story: clients, one pawld with the real core, its masters, a database with a
 * guard, and a network between them. One seed and a list of operations decide everything. There is
 * one true time, in microseconds, and it goes on only in story_world_run(). */
#ifndef API_STORY_WORLD_H
#define API_STORY_WORLD_H

#include "api/story/master.h"
#include "api/story/rng.h"
#include "fence/core.h"
#include "fence/guard/guard.h"

enum {
    STORY_TTL_MS = 10 * 1000,
    STORY_TTL_MAX_MS = 20 * 1000, /* longest lease of the fleet */
    STORY_AWAITED_MAX = 256,      /* requests that a master owes an answer */
    STORY_RUN_MS_MAX = 20 * 60 * 1000,
    STORY_EVENTS_SPARE = 512, /* room for what one instant tells */
};

/* ---- timers: what comes due, beside messages ------------------------------------------------- */

enum story_master_timer {
    STORY_TIMER_CONNECT, /* pawld opens the connection */
    STORY_TIMER_LOOK,    /* pawld probes the master */
    STORY_TIMER_SHAKE,   /* the handshake or the probe has taken too long */
    STORY_TIMER_NOTICE,  /* pawld notices that the connection broke */
    STORY_TIMER_CLOSED,  /* replies owed by a closed connection are lost */
    STORY_MASTER_TIMERS,
};

enum {
    STORY_TIMER_TICK, /* the deadline of the core */
    STORY_TIMER_CLIENT,
    STORY_TIMER_MASTER = STORY_TIMER_CLIENT + STORY_CLIENTS,
    STORY_TIMERS = STORY_TIMER_MASTER + STORY_MASTERS_MAX * STORY_MASTER_TIMERS,
};

/* ---- the connection between pawld and a master ----------------------------------------------- */

struct story_awaited {
    enum story_message_kind kind;
    uint64_t tag;
    unsigned locks;
};

struct story_link {
    bool is_open;
    bool is_shaken; /* a handshake ended on it */
    bool lost_writes;
    uint32_t generation;
    unsigned failures; /* in a row */
    uint64_t to_us;    /* when the latest request arrives: none overtakes it */
    uint64_t from_us;  /* the same for replies */
    unsigned first;    /* first entry of @awaited, a ring */
    unsigned count;
    struct story_awaited awaited[STORY_AWAITED_MAX];
};

/* ---- pawld ----------------------------------------------------------------------------------- */

struct story_pawld {
    struct fence_core *core;
    struct fence_effects effects;
    struct story_link links[STORY_MASTERS_MAX];
    int32_t told[STORY_MASTERS_MAX];   /* the state and reason that were told last */
    unsigned releasing[STORY_CLIENTS]; /* parts of a release without an answer */
};

/* ---- a client -------------------------------------------------------------------------------- */

enum story_client_state {
    STORY_IDLE,
    STORY_ASKING,  /* pawld */
    STORY_READING, /* the database */
    STORY_WORKING,
    STORY_CHECKED, /* it found its validity good, and is about to write */
    STORY_WRITING,
    STORY_RELEASING,
    STORY_RESTING, /* before it asks again */
};

struct story_client {
    enum story_client_state state;
    bool is_paused;
    bool loops;    /* it begins again and again */
    bool believes; /* that it has the lock */
    enum fence_mode mode;
    uint32_t task;
    char lock_id[FENCE_LOCK_ID_LEN + 1];
    char seat[STORY_NAME_MAX + 1];
    uint64_t asked_us;
    uint64_t valid_until_us;
    int64_t token;
    int32_t read_balance;
    uint32_t read_version;
    uint32_t work_ms;
    uint32_t hold_ms; /* that its next write takes longer */
};

/* ---- the database ---------------------------------------------------------------------------- */

struct story_database {
    bool is_guarded;
    int32_t balance;
    uint32_t version;
    struct fence_guard seen;
};

/* ---- all of it ------------------------------------------------------------------------------- */

struct story_world {
    uint64_t now_us;
    struct story_rng rng;
    unsigned masters_count;
    uint32_t runs; /* processes of masters so far */
    int32_t messages_count;
    uint64_t timers[STORY_TIMERS]; /* FENCE_NEVER: off */
    struct story_pawld pawld;
    struct story_client clients[STORY_CLIENTS];
    struct story_database database;
    struct story_master masters[STORY_MASTERS_MAX];
    int32_t held[STORY_MASTERS_MAX][3]; /* as it was told last: by whom, token, until when */
    struct story_message messages[STORY_MESSAGES_MAX];
    struct story_message scrap; /* a message that there is no room for */
    unsigned events_count;
    struct story_event events[STORY_EVENTS_MAX];
};

/* Tells an event; the time is filled in. */
void story_tell(struct story_world *world, struct story_event event);

void story_timer_set(struct story_world *world, unsigned timer, uint64_t at_us);

/* A message from @from to @to that arrives at @at_us: the caller fills in what it says. It is told
 * as sent. */
struct story_message *story_send(struct story_world *world, enum story_message_kind kind,
                                 int32_t from, int32_t to, uint64_t at_us, int64_t token);

/* Returns when a message between a client and another arrives that is sent now. */
uint64_t story_client_arrival_us(struct story_world *world);

/* Tells @kind of @message. */
void story_tell_message(struct story_world *world, enum story_event_kind kind,
                        const struct story_message *message, int64_t token, uint64_t at_us);

/* @message will not arrive. */
void story_lose(struct story_world *world, struct story_message *message);

static inline bool story_is_client(int32_t actor)
{
    return actor >= STORY_CLIENT && actor < STORY_CLIENT + STORY_CLIENTS;
}

static inline bool story_is_master(const struct story_world *world, int32_t actor)
{
    return actor >= STORY_MASTER && actor < STORY_MASTER + (int32_t)world->masters_count;
}

#endif
