/* The events of the story, as plain numbers: a program prints them, and the page draws them. For
 * the same seed, a build for WebAssembly and a native one give the same events. */
#ifndef API_STORY_EVENT_H
#define API_STORY_EVENT_H

#include <stdint.h>

enum {
    STORY_CLIENTS = 3,
    STORY_MASTERS_MAX = 5,
    STORY_EVENTS_MAX = 4096, /* events that were not taken yet */
};

/* The actors. Clients count from STORY_CLIENT, masters from STORY_MASTER. */
enum story_actor {
    STORY_CLIENT = 0,
    STORY_PAWLD = 8,
    STORY_DATABASE = 9,
    STORY_MASTER = 16,
};

/* @what of a message. */
enum story_message_kind {
    STORY_ACQUIRE, /* client to pawld */
    STORY_RELEASE,
    STORY_ANSWER, /* pawld to client */
    STORY_READ,   /* client to database; it claims, too */
    STORY_WRITE,
    STORY_RESULT, /* database to client */
    STORY_LOCK,   /* pawld to master: a request about locks */
    STORY_REJOIN, /* a step of a rejoin */
    STORY_RESTAMP,
    STORY_FACTS, /* a handshake */
    STORY_PROBE,
    STORY_REPLY,    /* master to pawld, to one of these five: that is its token */
    STORY_RELEASED, /* master to pawld: a lock that calls wait for was released */
    STORY_EXTEND, /* client to pawld, in scenes of the simulator alone (tests/sim/world/scene.h) */
    STORY_BREAK,
    STORY_OTHER, /* the other calls */
};

/* Why a client no longer believes that it has the lock: @what of STORY_ENDED. */
enum story_end {
    STORY_END_RELEASED,
    STORY_END_REFUSED, /* the database refused its token */
    STORY_END_LATE,    /* its own clock says that the validity is over */
};

/* The kinds of events. A comment says what an event has in @what, @id, @token and @value, beside
 * @who and @whom. */
#define STORY_EVENTS(X)                                                                            \
    X(SENT, "sent")         /* @what message @id is sent; @value: when it arrives */               \
    X(ARRIVED, "arrived")   /* @what message @id arrives */                                        \
    X(LOST, "lost")         /* @what message @id never arrives */                                  \
    X(DELAYED, "delayed")   /* @what message @id arrives later; @value: when */                    \
    X(ASKS, "asks")         /* a client begins a task; @what: its mode */                          \
    X(GRANTED, "granted")   /* pawld grants @token to @whom; @value: validity in ms */             \
    X(REFUSED, "refused")   /* pawld refuses @whom; @value: the error */                           \
    X(BELIEVES, "believes") /* a client has the answer; @value: when the validity ends */          \
    X(OVERLAP, "overlap")   /* @whom believes the same; @value: 1: both validities run */          \
    X(LOOKED, "looked")     /* a client finds @value ms of its validity left, and goes on */       \
    X(ENDED, "ended")       /* a client no longer believes; @what: story_end */                    \
    X(ACCEPTED, "accepted") /* the database accepts @what of @whom; @value: the balance */         \
    X(STALE, "stale")       /* the database refuses @what of @whom; @value: the newer token */     \
    X(LOST_UPDATE, "lost-update") /* a write of @whom undid @value that another client had         \
                                   * written */                                                    \
    X(HOLDS, "holds") /* at a master @what (a set of clients) has @token; @value: until */         \
    X(STATE, "state") /* pawld's judgement of a master: @what; @value: its reason */               \
    X(PAUSED, "paused")                                                                            \
    X(RESUMED, "resumed")                                                                          \
    X(KILLED, "killed")                                                                            \
    X(STARTED, "started")                                                                          \
    X(WIPED, "wiped")                                                                              \
    X(FAILED_OVER, "failed-over")                                                                  \
    X(CLOCK, "clock") /* a master's clock is set; @value: by how many ms */                        \
    X(CUT, "cut")                                                                                  \
    X(JOINED, "joined")                                                                            \
    X(GUARD, "guard") /* @value: 1 on, 0 off */

enum story_event_kind {
#define STORY_EVENT_ENUM(name, text) STORY_##name,
    STORY_EVENTS(STORY_EVENT_ENUM)
#undef STORY_EVENT_ENUM
};

/* Eight numbers of 32 bits: what JavaScript reads in place. Instants are microseconds of the true
 * time of the world. */
struct story_event {
    int32_t at_us;
    int32_t kind;
    int32_t who;
    int32_t whom;
    int32_t what;
    int32_t id;
    int32_t token;
    int32_t value;
};

/* The word of a kind: "granted"; NULL: there is no such kind. */
const char *story_event_name(int32_t kind);

#endif
