/* The lock protocol of Pawl and the rejoin of its masters, as one machine to which everything
 * happens that may, in every order. A configuration defines the scope of a search, then includes
 * this. */

#include "scope.pml"
#include "master.pml"
#include "view.pml"
#include "promise.pml"
#include "attempt.pml"
#include "faults.pml"
#if LEADERS
#include "rejoin.pml"
#endif

/* A fleet at work: its counters are anywhere, since attempts that failed may have left them so.
 * Those members that are alike are numbered in the order of their counters. */
#define FIRST_ALIKE (FAILURES > 1 -> 2 : FAILURES)
#define FOUND(_, m) \
    view[m] = FIRST_VIEW; \
    counter[m] = ((m) > FIRST_ALIKE -> counter[(m) - ((m) > 0)] : 0); \
    do \
    :: counter[m] < GAP -> counter[m]++ \
    :: break \
    od;

active proctype world()
{
    PROMISE_STATE
    ATTEMPT_STATE

    atomic {
        EACH_MEMBER(FOUND, _)
#if REPLACEMENTS
        state[OLD_MACHINE] = OUT
#endif
    }
end:
    do
#if CLEANUPS
    EACH_ATTEMPT(ONCE, FAILS)
    EACH_ATTEMPT(EACH_MEMBER, UNDOES)
#endif
    EACH_ATTEMPT(ONCE, BEGINS)
    EACH_ATTEMPT(EACH_MACHINE, TAKES)
    EACH_ATTEMPT(EACH_MAJORITY, FREEZES)
    EACH_ATTEMPT(EACH_MACHINE, CONFIRMS)
#ifdef SAME_LOCK_ID
    MEETS_ITS_ID(0, 0) MEETS_ITS_ID(0, 1) MEETS_ITS_ID(0, 2)
    MEETS_ITS_ID(1, 0) MEETS_ITS_ID(1, 1) MEETS_ITS_ID(1, 2)
#endif
#if DUPLICATES
    EACH_ATTEMPT(EACH_MACHINE, TAKES_FIRST)
    EACH_ATTEMPT(EACH_MACHINE, TAKES_UNHEARD)
#endif
#if FORGETTINGS
    FORGETS(0)
#if FAILURES > 1
    FORGETS(1)
#endif
#endif
#if TAIL_LOSSES
    SAVES(0)
    LOSES_TAIL(0)
#endif
#if RESTARTS
    RESTARTS_INTACT(0)
#endif
#if REPLACEMENTS
    IS_REPLACED(0)
#endif
#if LEADERS
    EACH_LEADER(ONCE, MARKS_0)
#if FAILURES > 1
    EACH_LEADER(ONCE, MARKS_1)
#endif
    EACH_LEADER(EACH_MACHINE, RECORDS)
    EACH_LEADER(ONCE, ADMITS)
#if DUPLICATES
    EACH_LEADER(ONCE, ADMITS_FIRST)
#endif
#endif
    od
}
