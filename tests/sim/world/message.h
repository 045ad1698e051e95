/* A request and its reply on their way, with names as small numbers. Copied freely; owns nothing.
 *
 * A lock id is numbered by the first call that acquires with it, a resource by its place in the
 * world, a run and a lineage of a Redis by how many there were before it. There is but one fleet in
 * a world. */
#ifndef TESTS_SIM_WORLD_MESSAGE_H
#define TESTS_SIM_WORLD_MESSAGE_H

#include "fence/core.h"

enum {
    SIM_NAMES_MAX = 3,        /* that clients ask for */
    SIM_GATE = SIM_NAMES_MAX, /* in a world of readers and writers */
    SIM_RESOURCES_MAX = SIM_GATE + 1,
    SIM_CALLS_MAX = 512, /* in one world, from first to last */
    SIM_SET_TEXT_MAX = 3 * SIM_RESOURCES_MAX,
    SIM_TOMBSTONE = SIM_CALLS_MAX, /* in place of a lock id: it has no holder */
    SIM_KEPT,                      /* the same: it was released, and stays closed for a while */
    SIM_HOLDERS_MAX,
    SIM_NO_LABEL = SIM_HOLDERS_MAX,        /* in place of a call: a label that names none */
    SIM_FOUND_MAX = SIM_RESOURCES_MAX + 1, /* found by a step of a scan: one is given twice */
};

/* In a world of seats each resource is a seat of this name. */
#define SIM_SEATS_NAME "r"

/* The calls that break grants. */
#define SIM_BREAKER "breaker"

/* In place of the number of a lock id, or of a call: none. */
#define SIM_NO_LOCK UINT32_MAX

/* The resources that a call or a request is about, each another, and the token that goes with each.
 * More than one: a group, which is acquired all or none. */
struct sim_set {
    unsigned count;
    uint32_t resource[SIM_RESOURCES_MAX];
    int64_t token[SIM_RESOURCES_MAX];
};

/* The marker in the fleet hash. @view: incarnations, the master's own too. */
struct sim_marker {
    bool present; /* the other members mean nothing without it */
    bool active;  /* state; else it is joining */
    bool durable; /* was it verified durable when it was marked */
    unsigned member;
    uint32_t run;     /* run of the Redis that was marked or restamped, */
    uint32_t lineage; /* and of its data */
    uint32_t ttl_max_ms;
    uint32_t readers;
    uint32_t extensions_max;
    int64_t next;         /* the incarnation it is to get; 0: none */
    bool intact;          /* joining, and had kept all it knew when that began */
    bool doubt;           /* a handshake found that something was lost since it was marked */
    enum fence_mark init; /* joining, by a bootstrap */
    int64_t progress;
    struct fence_view view;
    int64_t writes;               /* its position, */
    struct fence_positions heard; /* and what it was told of all members' */
};

enum sim_persistence {
    SIM_ALWAYS,   /* a crash loses nothing */
    SIM_EVERYSEC, /* a crash loses the end */
    SIM_NONE,     /* a crash loses everything */
};

/* Every counter of a master. None counts below the floor. */
struct sim_counters {
    int64_t floor;
    int64_t slot[SIM_RESOURCES_MAX];
};

/* The answer of a master to a READ: its floor and one counter, or one lock. */
struct sim_page {
    enum fence_rejoin_part part;
    uint32_t slot; /* COUNTERS */
    int64_t floor;
    int64_t counter;
    uint32_t resource; /* LOCKS */
    uint32_t lock;
    uint32_t extensions;
    bool imported;
    uint32_t from;
    uint64_t attempt;
    int64_t number;
    uint32_t delay_ms;
    uint64_t remaining_ms;
};

/* The requests of a server to a master: one of fence's requests about a lock, a step of a rejoin,
 * or what the driver does by itself. */
enum sim_ask {
    SIM_ASK_LOCK,
    SIM_ASK_REJOIN,
    SIM_ASK_RESTAMP,
    SIM_ASK_FACTS,   /* the handshake, */
    SIM_ASK_PROBE,   /* and a probe over the connection that stands */
    SIM_ASK_SCAN,    /* a step of a listing's scan, */
    SIM_ASK_HOLDERS, /* and its question for holders */
};

struct sim_lock_request {
    enum fence_request_kind kind;
    struct sim_set set;
    uint32_t lock;
    uint32_t call;                   /* TAKE: the acquire that it is sent for; SIM_NO_LOCK: an
                                      * extension that acquires again */
    int64_t hint[SIM_RESOURCES_MAX]; /* TAKE: of each of @set; COUNT */
    uint32_t count;                  /* COUNT */
    uint32_t names_max;              /* COUNT */
    uint32_t extended;               /* JOIN */
    uint32_t ttl_ms;
    uint32_t delay_ms; /* TAKE, JOIN: what the owner names */
    bool writes;       /* the same; no owner of the simulator does */
    bool covers;       /* RELEASE */
    uint32_t keep_ms;  /* RELEASE */
    uint64_t attempt;
    bool waits;
    int64_t ticket; /* TAKE of one */
    bool gated;
    bool idempotent;
};

struct sim_rejoin_request {
    enum fence_rejoin_step step;
    unsigned target; /* the member that rejoins */
    int64_t incarnation;
    uint64_t cursor;
    enum fence_rejoin_part part; /* READ */
    unsigned source;             /* INSTALL */
    bool has_page;
    struct sim_page page;
    uint32_t steps; /* CLEAR, ADMIT */
    uint32_t ttl_max_ms;
    uint32_t readers;
    uint32_t extensions_max;
    struct sim_marker seen; /* MARK, RESTAMP: the marker that was judged, */
    uint32_t run;           /* in this run, */
    uint32_t lineage;       /* with this lineage, */
    bool durable;           /* which was durable or not, */
    bool keeps;             /* MARK: and seems to have kept all it knew, or not */
    enum fence_mark mark;   /* MARK */
    int64_t floor;          /* ADMIT */
};

struct sim_scan_request {
    uint64_t cursor; /* SCAN */
    unsigned keys;
    unsigned count; /* HOLDERS: of these */
    uint32_t resource[SIM_RESOURCES_MAX];
};

struct sim_scan_reply {
    bool refused;
    uint64_t next; /* SCAN */
    unsigned count;
    uint32_t found[SIM_FOUND_MAX];      /* SCAN: resources */
    uint64_t holder[SIM_RESOURCES_MAX]; /* HOLDERS: fence_lock_id_hash(); 0: none */
};

struct sim_request {
    enum sim_ask ask;
    unsigned member;        /* which the master is taken for */
    uint64_t tag;           /* 0 for what the driver does by itself */
    struct fence_view view; /* the sender works under */
    uint32_t action;        /* LOCK: what it is a part of (tests/sim/actions); else meaningless */
    struct sim_lock_request lock;
    struct sim_rejoin_request rejoin; /* REJOIN, RESTAMP */
    struct sim_scan_request scan;     /* SCAN, HOLDERS */
    bool tells;                       /* FACTS, PROBE: the sender knows its fleet, */
    struct fence_positions positions; /* and these of its members */
};

struct sim_reply {
    /* LOCK */
    enum fence_reply_kind kind;
    uint32_t lock;                     /* HELD: the holder's. YES to EXTEND or JOIN: its own */
    unsigned member;                   /* HELD: which of the set is in the way */
    int64_t number[SIM_RESOURCES_MAX]; /* YES to EXTEND or JOIN: the first, its extensions */
    bool found;                        /* NUMBER: all was locked before under this id */
    bool counted_anew;                 /* NUMBER: of what was found, something was so */
    bool imported;                     /* EXTEND, JOIN: the lock is so */
    bool adopted;      /* YES to RELEASE: more masters may have it than its acquire asked */
    uint32_t delay_ms; /* HELD. YES to EXTEND or JOIN: of the lock */
    uint64_t remaining_ms;
    int64_t writes; /* the position of the master after it */
    uint32_t
        freed; /* RELEASE, UNDO: a set of resources that somebody waits for; servers are told */
    /* REJOIN; LOST: the script refused to run */
    enum fence_rejoin_outcome outcome;
    uint64_t cursor;
    bool has_page;
    struct sim_page page;
    int64_t highest; /* SURVEY */
    /* FACTS, PROBE; and the view in the marker: a STALE, a RECORD refused */
    uint32_t run;
    uint32_t lineage;
    bool intact;
    enum sim_persistence persistence;
    struct sim_marker marker;
    struct sim_scan_reply scan; /* SCAN, HOLDERS */
    /* The script ran, and CONFIG GET behind it says that the server is not what its marker says. */
    bool undurable;
};

/* The texts behind the numbers: static, of the form that fence/protocol/name.h asks for. */
const char *sim_resource_text(uint32_t resource);
const char *sim_seat_text(uint32_t resource); /* if the resources are seats of SIM_SEATS_NAME */
const char *sim_lock_text(uint32_t lock);
const char *sim_owner_text(uint32_t call);

/* The same with a delay behind it. Until the next such call. */
const char *sim_owner_with_delay(uint32_t call, uint32_t delay_ms);

/* Reports whether @owner names a call. */
bool sim_owner_is_calls(const char *owner);

/* The name of @set in a trace. */
void sim_set_text(const struct sim_set *set, char ret_text[static SIM_SET_TEXT_MAX]);

/* @set as the core is to be asked for it: one that is a group. */
void sim_set_group(const struct sim_set *set, struct fence_group *ret_group);

/* Back from the text. Asserts that it is one of ours. */
uint32_t sim_resource_number(const char *text);
uint32_t sim_lock_number(const char *text);
uint32_t sim_owner_number(const char *text);

/* The text of a run, or of a lineage; back from it: 0 for "". */
void sim_run_text(uint32_t run, char ret_text[static FENCE_ID_HEX_LEN + 1]);
uint32_t sim_run_number(const char *text);

/* The questions of a server, in the simulator's terms; all but the view it works under. */
struct sim_request sim_lock_request(const struct fence_request *request);
struct sim_request sim_rejoin_request(const struct fence_rejoin_request *request);
struct sim_request sim_restamp_request(const struct fence_facts *seen);

/* The id of the fleet. */
void sim_fleet_text(char ret_text[static FENCE_ID_HEX_LEN + 1]);

/* The findings of a handshake, and the answers to a request or a step came to, in the core's terms.
 * Memory that the replies point to lives as long as @reply. */
struct fence_facts sim_facts(const struct sim_reply *reply);
struct fence_reply sim_lock_reply(const struct sim_request *request, const struct sim_reply *reply);
struct fence_rejoin_reply sim_rejoin_reply(const struct sim_request *request,
                                           const struct sim_reply *reply);

/* As the driver does: where the settings behind @reply are no longer what the marker says, the
 * script ran, but the reply counts for nothing. True if so. */
bool sim_reply_discount(struct sim_reply *reply);

const char *sim_request_name(const struct sim_request *request);
const char *sim_reply_name(const struct sim_request *request, const struct sim_reply *reply);

#endif
