/* The state of the faults. For faults.c, which lets them begin and end, and faults_draw.c, which
 * says what may happen next. */
#ifndef TESTS_CHAOS_FAULTS_STATE_H
#define TESTS_CHAOS_FAULTS_STATE_H

#include "tests/chaos/absences.h"
#include "tests/chaos/fault_kinds.h"
#include "tests/chaos/faults.h"
#include "tests/sim/world/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    FAULTS_ACTIVE_MAX = 32,
    FAULTS_TOLD = 12, /* for each master, the last events that are remembered */
};

/* The faults of a master, for a reader that looks for the reason why it does not rejoin. */
struct fault_told {
    uint64_t at_us;
    const char *what; /* "begin", "harm", "end", "timed out", "back" */
    const char *kind; /* the name; NULL: none */
};

struct faults {
    struct stage *stage;
    struct sim_rng rng;
    uint64_t without;
    uint64_t begun_ms;
    uint64_t next_ms; /* the next fault */
    uint64_t look_ms;
    unsigned active;
    struct fault fault[FAULTS_ACTIVE_MAX];
    struct absences absences;
    uint64_t calm_ms[STAGE_MASTERS][STAGE_PAWLDS]; /* from when on the pawld sees the master */
    struct faults_figures figures;
    struct history_window *windows;
    size_t windows_count;
    uint64_t absent_us[STAGE_MASTERS]; /* when each did not vote last; 0: never */
    struct history_window *tombstones;
    size_t tombstones_count;
    bool tombstones_possible;                           /* the last of these windows goes on */
    struct fault_told told[STAGE_MASTERS][FAULTS_TOLD]; /* a ring, of which this comes next: */
    unsigned told_next[STAGE_MASTERS];
    FILE *log; /* in the folder of the run: what was done, and when */
};

/* Reports whether @victim suffers a fault of @target now. */
bool faults_hurt(const struct faults *faults, enum fault_target target, unsigned victim);

/* Draws what happens next. False if what was drawn may not happen now: then nothing does, so that
 * how often each kind happens stays as weighted. */
bool faults_draw(struct faults *faults, unsigned *ret_kind, unsigned *ret_victim);

#endif
