/* One master of the story: the rules of fence/master over a few structs, in a process. The process
 * can die, restart, lose its data, or be replaced by an older copy. Its disk keeps everything that
 * it answered. */
#ifndef API_STORY_MASTER_H
#define API_STORY_MASTER_H

#include "api/story/store.h"

struct story_master {
    unsigned me;      /* from 0 */
    unsigned members; /* masters of the fleet */
    bool is_up;
    bool is_cut;      /* from pawld */
    int64_t clock_ms; /* the difference between its clock and the true time */
    uint32_t run;     /* number of its process: no other master of the fleet has it */
    uint32_t lineage; /* number of its lineage */
    struct story_memory memory;
    struct story_memory replica; /* it lacks the last lock that was taken */
};

/* A blank master, as run @run. */
void story_master_start(struct story_master *master, unsigned me, unsigned members, uint32_t run);

/* The process restarts as run @run: with all data of its disk; without data; with the data of its
 * replica. */
void story_master_restart(struct story_master *master, uint32_t run);
void story_master_wipe(struct story_master *master, uint32_t run);
void story_master_fail_over(struct story_master *master, uint32_t run);

/* Executes @ask at true time @now_us, and writes @ret_reply, which must not move. */
void story_master_execute(struct story_master *master, const struct story_ask *ask, uint64_t now_us,
                          struct story_reply *ret_reply, struct story_done *ret_done);

/* Writes what a handshake with @master finds. */
void story_master_facts(const struct story_master *master, struct fence_facts *ret_facts);

/* A step of a rejoin, or of the fleet's making. */
struct fence_rejoin_reply story_master_rejoin(struct story_master *master,
                                              const struct fence_rejoin_request *request,
                                              uint64_t now_us, struct story_page *page);

/* Returns the clock of @master, in milliseconds. */
uint64_t story_master_clock_ms(const struct story_master *master, uint64_t now_us);

#endif
