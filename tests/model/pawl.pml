/* The lock protocol of Pawl and the rejoin of its masters, as one machine to which everything
 * happens that may, in every order. */

#include "scope.pml"
#include "master.pml"
#include "acts.pml"
#include "view.pml"
#if LEASES || ROUNDS
#include "lease.pml"
#endif
#include "promise.pml"
#include "attempt.pml"
#if ROUNDS
#include "round.pml"
#endif
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
#if EXTENSIONS
    EXTENSION_STATE
#endif
#if ROUNDS
    ROUND_STATE
#endif

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
#endif
#if CLEANUPS || SURPLUS
    EACH_ATTEMPT(EACH_MACHINE, UNDOES)
#endif
#if RELEASES
    EACH_ATTEMPT(ONCE, RELEASES_IT)
#endif
#if EXTENSIONS
    EACH_ATTEMPT(ONCE, EXTENDS)
    EACH_ATTEMPT(EACH_MACHINE, EXTENDS_AT)
#endif
#if ROUNDS
    EACH_ROUND(ONCE, BEGINS_ROUND)
    EACH_ROUND(ONCE, ROUND_FAILS)
    EACH_ROUND(EACH_MACHINE, EXTENDS_IN)
    EACH_ROUND(EACH_MACHINE, JOINS_AT)
    EACH_ROUND(EACH_MACHINE, TELLS_ABSENT)
    EACH_ROUND(EACH_MACHINE, UNDOES_JOIN)
#ifdef DROPS
    EACH_ROUND(EACH_MACHINE, DROPS_AT)
#endif
#endif
    EACH_ATTEMPT(ONCE, BEGINS)
#if HEDGES
    EACH_ATTEMPT(ONCE, HEDGES_LATER)
#endif
#ifdef MUTANT_VIEW_CHANGES
    EACH_ATTEMPT(ONCE, LEARNS_MEANWHILE)
#endif
    EACH_ATTEMPT(EACH_MACHINE, TAKES)
#if HINTS > 0
    EACH_ATTEMPT(EACH_MACHINE, TAKES_HINTED_1)
#endif
#if HINTS > 1
    EACH_ATTEMPT(EACH_MACHINE, TAKES_HINTED_2)
#endif
#if HINTS > 2
    EACH_ATTEMPT(EACH_MACHINE, TAKES_HINTED_3)
#endif
    EACH_ATTEMPT(EACH_MAJORITY, FREEZES)
    EACH_ATTEMPT(EACH_MACHINE, CONFIRMS)
#if OLDER_FILES
    EACH_ATTEMPT(ONCE, TAKES_UNANSWERED)
    EACH_ATTEMPT(ONCE, CONFIRMS_UNANSWERED)
#if EXTENSIONS
    EACH_ATTEMPT(ONCE, EXTENDS_UNANSWERED)
#endif
#if ROUNDS
    EACH_ROUND(ONCE, EXTENDS_UNANSWERED_IN)
    EACH_ROUND(ONCE, JOINS_UNANSWERED)
#endif
#if DEATHS
    EACH_ATTEMPT(ONCE, DIES)
#endif
#endif
#if LEADERS
    EACH_ATTEMPT(EACH_MACHINE, FINDS_ITS_COPY)
#endif
#if defined(SAME_LOCK_ID) || ROUNDS
    MEETS_ITS_ID(0, 0) MEETS_ITS_ID(0, 1) MEETS_ITS_ID(0, 2)
#endif
#ifdef SAME_LOCK_ID
    MEETS_ITS_ID(1, 0) MEETS_ITS_ID(1, 1) MEETS_ITS_ID(1, 2)
#endif
#if DUPLICATES
    EACH_ATTEMPT(EACH_MACHINE, TAKES_FIRST)
    EACH_ATTEMPT(EACH_MACHINE, TAKES_UNHEARD)
#endif
#if FORGETTINGS
    FORGETS(0)
#if SECOND_FAILS
    FORGETS(1)
#endif
#endif
#if ROLLBACKS || OLDER_FILES
    SAVES(0)
    ROLLS_BACK(0)
#if SECOND_FAILS
    SAVES(1)
    ROLLS_BACK(1)
#endif
#endif
#if RESTARTS
    RESTARTS_INTACT(0)
#endif
#if RESTARTS || OLDER_FILES
    IS_TRUSTED(0)
#endif
#if RESTARTS
#if SECOND_FAILS
    RESTARTS_INTACT(1)
    IS_TRUSTED(1)
#endif
#endif
#if HALF_WAY
    IS_TRUSTED_HALF_WAY(0)
#endif
#if REPLACEMENTS
    IS_REPLACED(0)
#if RESTARTS
    IS_TRUSTED(OLD_MACHINE)
#endif
#if HALF_WAY
    IS_TRUSTED_HALF_WAY(OLD_MACHINE)
#endif
#endif
#if LEADERS
    EACH_LEADER(ONCE, MARKS_0)
#if SECOND_FAILS
    EACH_LEADER(ONCE, MARKS_1)
#endif
#if REPLACEMENTS
    EACH_LEADER(ONCE, MARKS_OLD)
#endif
    EACH_LEADER(ONCE, LEARNS)
    EACH_LEADER(EACH_MACHINE, RECORDS)
    EACH_LEADER(EACH_MACHINE, READS)
#if IN_FLIGHT
    EACH_LEADER(ONCE, INSTALLS)
#endif
    EACH_LEADER(ONCE, ADMITS)
    EACH_LEADER(ONCE, MARKS_AGAIN)
    EACH_MACHINE(IS_TOLD_2, 0)
#if LEADERS > 1
    EACH_MACHINE(IS_TOLD_3, 0)
#endif
#if SECOND_FAILS
    EACH_MACHINE(IS_TOLD_2, 1)
    EACH_MACHINE(IS_TOLD_3, 1)
#endif
#if DUPLICATES
    EACH_LEADER(ONCE, ADMITS_FIRST)
#endif
#endif
    od
}
