/* Playing the story: one world at a time, operations on it, and the events that it tells. Programs
 * and the page call the same functions: these are what the module for WebAssembly exports, so they
 * take and return plain numbers. */
#ifndef API_STORY_PLAY_H
#define API_STORY_PLAY_H

#include "api/story/event.h"

#include <stdint.h>

/* @whom is an actor, @value a number where one is named. */
#define STORY_OP_LIST(X)                                                                           \
    X(TASK, "task")           /* a client begins: @value 0 as a holder, 1 a reader, 2 a writer */  \
    X(LOOP, "loop")           /* the same, and again and again; -1: no more */                     \
    X(PAUSE, "pause")         /* a client stops, and does not notice */                            \
    X(RESUME, "resume")       /* it goes on */                                                     \
    X(WORK, "work")           /* a client works for @value ms in each task */                      \
    X(HOLD, "hold")           /* the next write of a client takes @value ms longer */              \
    X(DELAY, "delay")         /* message @whom, on its way, takes @value ms longer */              \
    X(KILL, "kill")           /* the process of a master ends */                                   \
    X(START, "start")         /* it starts, with what its disk kept */                             \
    X(WIPE, "wipe")           /* it starts without anything */                                     \
    X(FAIL_OVER, "fail-over") /* its replica takes its place, without the last lock it gave */     \
    X(CLOCK, "clock")         /* the clock of a master is set by @value ms */                      \
    X(CUT, "cut")             /* the network between pawld and a master breaks */                  \
    X(JOIN, "join")           /* it is mended */                                                   \
    X(GUARD, "guard")         /* @value 1: the guard of the database is on; 0: off */

enum story_op {
#define STORY_OP_ENUM(name, text) STORY_OP_##name,
    STORY_OP_LIST(STORY_OP_ENUM)
#undef STORY_OP_ENUM
    STORY_OPS,
};

/* The word of an operation: "pause"; NULL: there is no such operation. */
const char *story_op_name(int32_t op);

/* Begins a new world at time 0. Returns 0, or an error of fence/protocol/error.h. */
int32_t story_open(uint32_t seed, uint32_t masters);

/* Does an operation now. Returns 0; FENCE_EINVAL: there is no such operation, actor or value, and
 * nothing is done. One that changes nothing is no error. */
int32_t story_op(int32_t op, int32_t whom, int32_t value);

/* Goes on until @until_ms. Returns the milliseconds that it has come to: fewer where events have to
 * be taken first, or where the story is over (STORY_RUN_MS_MAX). */
int32_t story_run(int32_t until_ms);

/* The events since they were taken last; story_taken() takes them. */
const struct story_event *story_events(void);
int32_t story_events_count(void);
void story_taken(void);

#endif
