/* A history as the actions of the model (tests/proof/Checker.v), one a line, for the checker.
 *
 * What masters did is written where a request was executed, from what the machine has before and
 * after it. What servers did is written from what they send, hear, decide and answer. Numbers stand
 * for all names: a resource is its place in the world, and a lock id the first call with it.
 *
 * Some of what happens has no word in the model. Then the rest of the history is left out, and
 * counted. */
#ifndef TESTS_SIM_ACTIONS_ACTIONS_H
#define TESTS_SIM_ACTIONS_ACTIONS_H

#include "fence/state/trace.h"
#include "tests/sim/promises/check.h"
#include "tests/sim/world/message.h"

#include <stdio.h>

struct sim_world;

/* Why the rest of a history is left out. */
#define SIM_LEFT_OUT(X)                                                                            \
    X(operator, "an operator makes the fleet, or sets a floor")                                    \
    X(marked_twice, "a copy of a mark is executed on another machine, and has pages")              \
    X(half_way, "a master is trusted half-way through an import")                                  \
    X(disk, "a disk is trusted that lacks writes for which no server counted")                     \
    X(full, "the history is too long for the tables of this program")

enum sim_left_out {
#define NAME(name, text) SIM_LEFT_OUT_##name,
    SIM_LEFT_OUT(NAME)
#undef NAME
    SIM_LEFT_OUT_COUNT,
};

enum {
    SIM_ACTIONS_TRIES_MAX = 4096,
    SIM_ACTIONS_ROUNDS_MAX = 2048,
    SIM_ACTIONS_READS_MAX = 4096,
    SIM_ACTIONS_TEXT_MAX = 1 << 16,
    SIM_ACTIONS_SLOTS_MAX = 2 * SIM_RESOURCES_MAX, /* those of locks, and of named counters */
};

enum sim_shown_state {
    SIM_SHOWN_OUT,
    SIM_SHOWN_JOINING,
    SIM_SHOWN_ACTIVE,
};

enum sim_shown_lineage {
    SIM_SHOWN_KEPT,
    SIM_SHOWN_RESTARTED,
    SIM_SHOWN_CHANGED,
};

/* A machine, as the model was told of it. */
struct sim_shown {
    unsigned member;
    unsigned index; /* among the machines of the member */
    enum sim_shown_state state;
    int64_t next;  /* JOINING: its incarnation to be */
    int64_t again; /* JOINING: what the model calls it, if a machine was marked with it before; 0 */
    enum sim_shown_lineage lineage;
    struct fence_view knows;
    int64_t counter[SIM_ACTIONS_SLOTS_MAX];
    struct sim_shown_lock {
        bool present;
        uint32_t lock;
        int64_t number;
    } locks[SIM_RESOURCES_MAX];
};

/* An attempt of a server. */
struct sim_shown_try {
    uint64_t id;
    uint32_t lock;
    struct sim_set set;
    uint32_t heard; /* masters whose numbers arrived, */
    uint32_t yes;   /* and whose agreement did */
    uint32_t frozen;
    bool granted;
    int64_t numbers[FENCE_MASTERS_MAX][SIM_RESOURCES_MAX];
};

/* A round of a named counter, or the second one of a break. */
struct sim_shown_round {
    unsigned server;
    uint32_t core; /* of the server: it has another one after each crash */
    uint64_t tag;
    enum fence_request_kind kind;
    uint32_t resource;
    int64_t token; /* BREAK */
    uint32_t done; /* masters that executed it */
    uint32_t heard;
    int64_t numbers[FENCE_MASTERS_MAX];
    bool over;
};

/* A page of counters that was read, and where it was installed. */
struct sim_shown_read {
    unsigned source;
    unsigned target;
    struct fence_view view;
    struct sim_page page;
    bool has_page;
    bool zeroes; /* no named counter was there */
};

struct sim_shown_install {
    unsigned machine;
    unsigned source;
    struct fence_view view;
    uint32_t slots; /* a set: those that were installed */
};

struct sim_actions {
    FILE *out;
    bool broken; /* nobody reads on */
    size_t len;
    char text[SIM_ACTIONS_TEXT_MAX];
    bool over; /* the rest of this history is left out */
    uint32_t core[SIM_SERVERS_MAX];
    uint64_t lines;
    uint64_t left_out[SIM_LEFT_OUT_COUNT];
    unsigned slots; /* of locks, */
    unsigned names; /* and of named counters */
    struct sim_shown machines[SIM_MACHINES_MAX];
    unsigned machines_count;
    unsigned tries_count;
    struct sim_shown_try tries[SIM_ACTIONS_TRIES_MAX];
    unsigned rounds_count;
    struct sim_shown_round rounds[SIM_ACTIONS_ROUNDS_MAX];
    unsigned reads_count;
    struct sim_shown_read reads[SIM_ACTIONS_READS_MAX];
    unsigned records_count;
    struct sim_shown_record {
        unsigned source;
        unsigned target;
        struct fence_view view;
    } records[SIM_ACTIONS_READS_MAX];
    unsigned marks_count;
    struct sim_shown_mark {
        unsigned member;
        unsigned index; /* of the machine */
        int64_t incarnation;
    } marks[SIM_ACTIONS_READS_MAX];
    unsigned installs_count;
    struct sim_shown_install installs[SIM_ACTIONS_READS_MAX];
};

/* NULL: no memory. Writes to @out, which stays the caller's; all of it, at the end. */
struct sim_actions *sim_actions_new(FILE *out);
void sim_actions_free(struct sim_actions *actions);

/* The lines that are written so far go out. */
void sim_actions_flush(struct sim_actions *actions);

/* Reports whether nobody reads on: the checker has refused an action, and ended. */
bool sim_actions_broken(const struct sim_actions *actions);

/* Prints how many actions there were, and what was left out. */
void sim_actions_report(const struct sim_actions *actions);

/* The functions below do nothing in a world whose actions are not written. */

/* A history begins: its masters are there. */
void sim_actions_start(struct sim_world *world, uint64_t seed);
void sim_actions_leave_out(struct sim_world *world, enum sim_left_out why);

/* Server @s crashes, and starts anew. */
void sim_actions_crashed(struct sim_world *world, unsigned s);

/* Before and after @request is executed at @machine. */
void sim_actions_before(struct sim_world *world, unsigned machine);
void sim_actions_executed(struct sim_world *world, unsigned machine,
                          const struct sim_request *request, const struct sim_reply *reply);

/* Server @s sends @request, which is then told of which action it is a part; hears the reply of
 * master @i; decides; answers @call. */
void sim_actions_sent(struct sim_world *world, unsigned s, struct sim_request *request);
void sim_actions_heard(struct sim_world *world, unsigned i, const struct sim_request *request,
                       const struct sim_reply *reply);
void sim_actions_decided(struct sim_world *world, const struct fence_trace *trace);
void sim_actions_answered(struct sim_world *world, unsigned s, const struct sim_call *call,
                          const struct fence_answer *answer);

#endif
