/* Faults, drawn from one seed: which, of whom, when, for how long. One thread: what it does happens
 * within faults_step().
 *
 * The service keeps a chance. Masters that have to rejoin are a minority at all times: a
 * majority without memory is another matter, for an operator. And mostly one pawld at least
 * reaches a majority of masters. */
#ifndef TESTS_CHAOS_FAULTS_H
#define TESTS_CHAOS_FAULTS_H

#include "tests/chaos/absences.h"
#include "tests/chaos/history.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FAULT_KINDS = 37,
};

struct stage;
struct faults;

struct faults_figures {
    size_t injected[FAULT_KINDS];
    size_t all;
    size_t gave_up;    /* faults that did not come to their harm in time */
    size_t taken_back; /* masters that forgot */
    double mean_s;     /* mean of those: from being up again to voting again, on average */
    double slowest_s;
    struct absences_figures
        absent[FAULT_KINDS]; /* one for the kinds that befall a master's process */
};

/* The name of a kind (0 .. FAULT_KINDS - 1). */
const char *faults_name(unsigned kind);

/* Reports whether it befalls a master's process, memory, files or settings. */
bool faults_is_of_master(unsigned kind);

/* @without: the set of kinds (bit i) that are left out. */
struct faults *faults_new(struct stage *stage, uint64_t seed, uint64_t without);
void faults_free(struct faults *faults);

/* Ends what is due, and may begin something. To be called every few milliseconds. */
void faults_step(struct faults *faults);

/* Ends all. */
void faults_heal(struct faults *faults);

const struct faults_figures *faults_figures(struct faults *faults);

/* Prints what befell each master last, in the order of time. */
void faults_print_last(const struct faults *faults);

/* Good until the next step. */
struct history_times faults_times(const struct faults *faults);

#endif
