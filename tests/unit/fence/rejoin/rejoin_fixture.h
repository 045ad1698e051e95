/* A fleet of five whose last master is rejoining, brought to any state of that. Each master
 * answers what it was asked in order, as over one connection.
 *
 *     struct core_fixture *f = rejoin_recording(state);
 *     rejoin_done(f, 0);
 *     assert_step(f, FENCE_REJOIN_READ, CORE_FIRST(3)); */
#ifndef TESTS_UNIT_FENCE_REJOIN_REJOIN_FIXTURE_H
#define TESTS_UNIT_FENCE_REJOIN_REJOIN_FIXTURE_H

#include "tests/unit/fence/core_fixture.h"

enum {
    MEMBER = 4, /* the one that rejoins */
    SOURCES = 3,
};

/* The findings of a handshake with the member: nothing; all of it, by another process; the mark of
 * a try that gave it the incarnation @next. */
struct fence_facts rejoin_blank(void);
struct fence_facts rejoin_restarted(void);
struct fence_facts rejoin_marked(int64_t next);

/* The member's incarnation before, and the one that this server means it to get. */
int64_t rejoin_before(void);
int64_t rejoin_meant(const struct core_fixture *f);

/* A new fleet, in which the rejoin of a blank member has come so far. The import is from the first
 * three masters. */
struct core_fixture *rejoin_delayed(void **state);
struct core_fixture *rejoin_asking(void **state);
struct core_fixture *rejoin_marking(void **state);
struct core_fixture *rejoin_clearing(void **state);
struct core_fixture *rejoin_recording(void **state);
struct core_fixture *rejoin_importing(void **state);
struct core_fixture *rejoin_admitting(void **state);

/* The member comes back with @facts; and all goes well from there up to IMPORTING. */
void rejoin_begins(struct core_fixture *f, struct fence_facts facts);
void rejoin_goes_well(struct core_fixture *f);

/* The counters of all sources, an empty page each, are read; and the locks of all of them. */
void rejoin_counters_come(struct core_fixture *f);
void rejoin_locks_come(struct core_fixture *f);

/* ---- replies --------------------------------------------------------------------------------- */

/* Master @i answers the oldest of what it owes. */
void rejoin_reply(struct core_fixture *f, unsigned i, struct fence_rejoin_reply reply);
void rejoin_done(struct core_fixture *f, unsigned i);
void rejoin_done_until(struct core_fixture *f, unsigned i, uint64_t cursor);
void rejoin_page(struct core_fixture *f, unsigned i, const char *bytes, uint64_t cursor);
void rejoin_changed(struct core_fixture *f, unsigned i, const struct fence_view *view);

/* The connection to master @i ends: then all that it owes is lost. The last step is that of the
 * last reply that was lost. */
void rejoin_cut_off(struct core_fixture *f, unsigned i);

/* Nothing comes any more of what the other masters owe, but for what they were asked last. */
void rejoin_drop_late(struct core_fixture *f);

/* The first three masters record, or say that they would. */
void rejoin_majority_answers(struct core_fixture *f);

/* ---- effects of the last step ---------------------------------------------------------------- */

/* The set of masters that were sent @step, and the request that went to master @i. */
uint32_t rejoin_sent(const struct core_fixture *f, enum fence_rejoin_step step);
const struct fence_rejoin_request *rejoin_request(const struct core_fixture *f,
                                                  enum fence_rejoin_step step, unsigned i);

/* @step was sent to exactly these masters, and no other step to anybody. Returns one of the
 * requests. */
const struct fence_rejoin_request *assert_step(const struct core_fixture *f,
                                               enum fence_rejoin_step step, uint32_t masters);
void assert_no_step(const struct core_fixture *f);

/* The member was left alone, for @reason: its connection is opened again. */
void assert_broken_off(const struct core_fixture *f, enum fence_reason reason);

/* The member is rejoining no more, and is looked at again on the same connection. */
void assert_shaken(const struct core_fixture *f);

const struct fence_master *rejoin_member(const struct core_fixture *f);

#endif
