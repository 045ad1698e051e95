/* Named counters, as one machine like pawl.pml. A master's counter here is that of one name, and
 * there are no locks. What masters suffer, and how they are taken back, is the same.
 *
 * Messages are bits, as in attempt.pml: all members are asked, and where nothing ever arrives the
 * master was not asked, or the request was lost. A call that fails is one that never goes on. */

#include "scope.pml"

#ifndef COUNT_MAX
#define COUNT_MAX 2 /* a call takes up to so many values; 0 is a read */
#endif
#ifndef AGAIN
#define AGAIN 1 /* rounds beside the first of each call; one call may have one */
#endif

#include "master.pml"
#include "acts.pml"
#include "view.pml"

#define IDLE 0
#define ASKING 1
#define ENDED 2 /* with a number */

#define ROUNDS_MAX 2
#define at(a, round) ((a) * ROUNDS_MAX + (round))
#define of_member(a, m) ((a) * N + (m))

/* State of the one process, as in promise.pml. */
#define CALL_STATE \
    byte phase[ATTEMPTS]; \
    byte round[ATTEMPTS]; \
    byte count[ATTEMPTS]; \
    byte least[ATTEMPTS]; /* the highest number of the calls that had ended when it began */ \
    byte token[ATTEMPTS]; /* the number that it ended with */ \
    byte answered[ATTEMPTS];          /* members that answered in its present round, */ \
    byte answer[ATTEMPTS * N];        /* and with what */ \
    byte asked[ATTEMPTS * ROUNDS_MAX]; /* members where a request of that round may still arrive, */ \
    VIEW named[ATTEMPTS * ROUNDS_MAX]; /* under what view, */ \
    byte hint[ATTEMPTS * ROUNDS_MAX]; /* and with what hint */ \
    byte again;

bool over;  /* all calls ended */
byte other; /* 0 between steps */

inline rest_if_settled()
{
    skip
}

/* ---- what is promised ------------------------------------------------------------------------- */

/* C1: the values token - count + 1 ... token are nobody else's. */
#define is_apart(a, b) (token[a] <= token[b] - count[b] || token[b] <= token[a] - count[a])

/* C2: all values are above the number of each call that ended before this one began. The number of
 * a read is not below it. */
#define is_in_order(a) (token[a] - count[a] >= least[a])

inline end_call(a, agreed)
{
    token[a] = agreed;
    printf("call %d: ends, count %d, number %d\n", a, count[a], token[a]);
    assert(is_in_order(a));
    over = true;
    other = 0;
    do
    :: other == ATTEMPTS -> break
    :: other < ATTEMPTS && other != a && phase[other] == ENDED ->
        assert(count[a] == 0 || count[other] == 0 || is_apart(a, other));
        other++
    :: other < ATTEMPTS && other != a && phase[other] != ENDED -> over = false; other++
    :: else -> other++
    od;
    other = 0;
    phase[a] = ENDED;
    least[a] = 0;
    forget_answers(a)
}

inline remember_highest(a)
{
    i = 0;
    do
    :: i == ATTEMPTS -> break
    :: i < ATTEMPTS && phase[i] == ENDED && token[i] > least[a] -> least[a] = token[i]
    :: else -> i++
    od;
    i = 0
}

/* ---- calls ------------------------------------------------------------------------------------ */

inline forget_answers(a)
{
    answered[a] = 0;
    i = 0;
    do
    :: i == N -> break
    :: else -> answer[of_member(a, i)] = 0; i++
    od;
    i = 0
}

/* A majority of all N, whoever was asked. */
#ifdef MUTANT_MAJORITY_OF_ASKED
#define ENOUGH (Q / 2 + 1)
#define ASKS_ONLY(a, majority) :: asked[at(a, round[a])] = majority
#else
#define ENOUGH Q
#define ASKS_ONLY(a, majority)
#endif

inline ask(a)
{
    if
#ifdef MUTANT_MAJORITY_OF_ASKED
    EACH_MAJORITY(ASKS_ONLY, a)
#else
    :: asked[at(a, round[a])] = ALL_MEMBERS
#endif
    fi
}

/* A first hint is any number up to HINTS. */
inline begin(a)
{
    learn(named[at(a, 0)]);
    do
    :: count[a] < COUNT_MAX -> count[a]++
    :: break
    od;
    do
    :: hint[at(a, 0)] < HINTS -> hint[at(a, 0)]++
    :: break
    od;
    ask(a);
    d_step {
        printf("call %d: begins, count %d, hint %d, under view 0%o\n", a, count[a],
               hint[at(a, 0)], named[at(a, 0)]);
        phase[a] = ASKING;
        remember_highest(a)
    }
}

/* Which of several like calls is called the first is arbitrary, so they begin in order. */
#define BEGINS(a) \
    :: atomic { \
        !over && phase[a] == IDLE && (a == 0 || phase[a - (a > 0)] != IDLE) -> \
        begin(a) \
    }

/* The hint of a new round is the highest number that was answered. Since answers get lost, that is
 * any of them, or none. */
#define HINTED(a, m) \
    :: is_at(answered[a], m) -> hint[at(a, 1)] = answer[of_member(a, m)]

/* Rule: numbers of another round do not count. */
#ifdef MUTANT_ROUNDS_ADDED_UP
#define KEEPS_ANSWERS 1
#else
#define KEEPS_ANSWERS 0
#endif

inline try_again(a)
{
    learn(named[at(a, 1)]);
    if
    :: hint[at(a, 1)] = 0
    EACH_MEMBER(HINTED, a)
    fi;
    round[a] = 1;
    ask(a);
    d_step {
        printf("call %d: tries again, hint %d, under view 0%o\n", a, hint[at(a, 1)],
               named[at(a, 1)]);
        again--;
        if
        :: !KEEPS_ANSWERS -> forget_answers(a)
        :: else
        fi
    }
}

#define TRIES_AGAIN(a) \
    :: atomic { !over && again > 0 && phase[a] == ASKING && round[a] == 0 -> try_again(a) }

/* ---- at a master ------------------------------------------------------------------------------ */

#define may_count(a, r, m) (!over && is_at(asked[at(a, r)], m) && accepts(m, named[at(a, r)]))

/* Rule: a hint raises the counter, and never lowers it. */
#ifdef MUTANT_HINT_LOWERS
#define raised_to(m, x) ((x) > 0 -> (x) : counter[m])
#else
#define raised_to(m, x) ((x) > counter[m] -> (x) : counter[m])
#endif

inline count_at(a, r, m)
{
    view[m] = adopted(m, named[at(a, r)]);
    act_if(m, count[a] > 0 || counter[m] < hint[at(a, r)]);
    counter[m] = raised_to(m, hint[at(a, r)]) + count[a];
    printf("call %d: round %d at master %d, number %d\n", a, r, m, counter[m])
}

inline hear(a, r, m)
{
    if
    :: phase[a] == ASKING && round[a] == r && (KEEPS_ANSWERS || !is_at(answered[a], m)) &&
       !is_stale(a, m) ->
        see_count(a, m);
        put_in(answered[a], m);
        answer[of_member(a, m)] = counter[m]
    :: else
    fi
}

/* What was named is forgotten when it can arrive nowhere any more. */
inline arrived(a, r, m)
{
    take_out(asked[at(a, r)], m);
    if
    :: asked[at(a, r)] == 0 -> named[at(a, r)] = 0; hint[at(a, r)] = 0
    :: else
    fi
}

#define COUNTS_IN(a, r, m) \
    :: d_step { may_count(a, r, m) -> count_at(a, r, m); hear(a, r, m); arrived(a, r, m) }
#define COUNTS_UNANSWERED(a) \
    :: d_step { \
        is_counting() && phase[a] == ASKING && may_count(a, 0, 0) -> \
        count_at(a, 0, 0); \
        arrived(a, 0, 0) \
    }
#define COUNTS(a, m) COUNTS_IN(a, 0, m)
#define COUNTS_AGAIN(a, m) COUNTS_IN(a, 1, m)

/* It arrives, and will arrive once more. One of the two numbers is heard. */
#define COUNTS_FIRST(a, m) \
    :: d_step { \
        duplicates > 0 && may_count(a, 0, m) -> \
        count_at(a, 0, m); \
        hear(a, 0, m); \
        duplicates-- \
    }
#define COUNTS_UNHEARD(a, m) \
    :: d_step { duplicates > 0 && may_count(a, 0, m) -> count_at(a, 0, m); duplicates-- }

/* ---- the end of a call ------------------------------------------------------------------------ */

/* Rule: a majority answered the same number. */
#define says(a, m, number) (is_at(answered[a], m) && answer[of_member(a, m)] == (number))
#define is_below(a, m, number) (is_at(answered[a], m) && answer[of_member(a, m)] <= (number))
#if N == 3
#define in_all(what, a, x) (what(a, 0, x) + what(a, 1, x) + what(a, 2, x))
#else
#define in_all(what, a, x) \
    (what(a, 0, x) + what(a, 1, x) + what(a, 2, x) + what(a, 3, x) + what(a, 4, x))
#endif
#define is_settled_by(a, number) (in_all(says, a, number) >= ENOUGH)
#define is_highest_of(a, number) (in_all(is_below, a, number) >= ENOUGH)
#if defined(MUTANT_HIGHEST_WINS)
#define is_number_of(a, number) is_highest_of(a, number)
#elif defined(MUTANT_HIGHEST_READ) /* and not written back */
#define is_number_of(a, number) \
    (count[a] == 0 -> is_highest_of(a, number) : is_settled_by(a, number))
#else
#define is_number_of(a, number) is_settled_by(a, number)
#endif

/* What has to happen in a search somewhere, or `run` finds a statement that was never reached. */
#if LEADERS
#define is_by_one_taken_back(a, number) \
    (says(a, 0, number) && incarnation(view[0], 0) > 1)
#define SEES_TAKEN_BACK(a, number) \
    if \
    :: is_by_one_taken_back(a, number) -> printf("call %d: by one that was taken back\n", a) \
    :: else \
    fi;
#else
#define SEES_TAKEN_BACK(a, number)
#endif
#if AGAIN
#define SEES_AGAIN(a) \
    if \
    :: round[a] > 0 -> printf("call %d: in its second round\n", a) \
    :: else \
    fi;
#else
#define SEES_AGAIN(a)
#endif

#define ENDS(a, m) \
    :: atomic { \
        phase[a] == ASKING && is_at(answered[a], m) && \
        is_number_of(a, answer[of_member(a, m)]) -> \
        SEES_TAKEN_BACK(a, answer[of_member(a, m)]) \
        SEES_AGAIN(a) \
        d_step { end_call(a, answer[of_member(a, m)]) }; \
        if \
        :: over -> printf("call %d: the last of all\n", a) \
        :: else \
        fi \
    }

#include "faults.pml"
#if LEADERS
#include "rejoin.pml"
#endif

/* Counters are anywhere at first, as in pawl.pml: calls that failed may have left them so. */
#define FIRST_ALIKE FAILURES
#define FOUND(_, m) \
    view[m] = FIRST_VIEW; \
    counter[m] = ((m) > FIRST_ALIKE -> counter[(m) - ((m) > 0)] : 0); \
    do \
    :: counter[m] < GAP -> counter[m]++ \
    :: break \
    od;

active proctype world()
{
    CALL_STATE

    atomic {
        EACH_MEMBER(FOUND, _)
        again = AGAIN
    }
end:
    do
    EACH_ATTEMPT(ONCE, BEGINS)
    EACH_ATTEMPT(EACH_MACHINE, COUNTS)
#if AGAIN
    EACH_ATTEMPT(ONCE, TRIES_AGAIN)
    EACH_ATTEMPT(EACH_MACHINE, COUNTS_AGAIN)
#endif
#if DUPLICATES
    EACH_ATTEMPT(EACH_MACHINE, COUNTS_FIRST)
    EACH_ATTEMPT(EACH_MACHINE, COUNTS_UNHEARD)
#endif
    EACH_ATTEMPT(EACH_MACHINE, ENDS)
#if FORGETTINGS
    FORGETS(0)
#endif
#if OLDER_FILES
    EACH_ATTEMPT(ONCE, COUNTS_UNANSWERED)
    SAVES(0)
    ROLLS_BACK(0)
    IS_TRUSTED(0)
#endif
#if LEADERS
    EACH_LEADER(ONCE, MARKS_0)
    EACH_LEADER(EACH_MACHINE, RECORDS)
    EACH_LEADER(EACH_MACHINE, READS)
    EACH_LEADER(ONCE, ADMITS)
    EACH_MACHINE(IS_TOLD_2, 0)
#endif
    od
}
