/* Attempts at acquiring the one resource, each by a client of its own.
 *
 * A message is a bit: it was sent, and arrives at any later time or never. So messages are late,
 * lost and reordered without further ado. An arrival that neither changes anything nor is worth a
 * vote (the lock is held, the view refused) is the same as none, and left out; what it may tell the
 * master of the view is in view.pml. So is failing, but where CLEANUPS says otherwise: to P1 an
 * attempt that fails is one that never goes on, and its clean-up one more lock that expired. */

/* A hedge is step 1 to the masters that were not asked at first. Rule: it names the view that the
 * attempt began with. */
#if defined(MUTANT_HEDGE_UNDER_NEWEST_VIEW)
#define HEDGE_STATE \
    byte unasked[ATTEMPTS]; \
    byte hedged[ATTEMPTS]; \
    VIEW hedged_under[ATTEMPTS];
#define named_at(a, m) (is_at(hedged[a], m) -> hedged_under[a] : named[a])
#elif HEDGES
#define HEDGE_STATE byte unasked[ATTEMPTS]; /* members that it may still ask */
#define named_at(a, m) named[a]
#else
#define HEDGE_STATE
#define named_at(a, m) named[a]
#endif

/* State of the one process, as in promise.pml. */
#define ATTEMPT_STATE \
    VIEW named[ATTEMPTS];       /* the view known when it began */ \
    byte asked[ATTEMPTS];       /* members where its step 1 may still arrive */ \
    byte answered[ATTEMPTS];    /* members that answered before the token was fixed, */ \
    byte answer[ATTEMPTS * N];  /* and with what */ \
    byte confirming[ATTEMPTS];  /* members of the frozen set where its step 4 may still arrive */ \
    byte confirmed[ATTEMPTS];   /* how many agreed */ \
    byte undoing[ATTEMPTS];     /* members where its clean-up may still arrive */ \
    HEDGE_STATE

#define answer_of(a, m) answer[(a) * N + member(m)]

byte equal; /* 0 between steps */

/* Which of several like attempts is called the first is arbitrary, so they begin in order. */
#ifdef SAME_LOCK_ID
#define may_begin(a) (phase[a] == IDLE && (a != 1 || phase[0] != IDLE))
#elif ROUNDS
#define may_begin(a) (phase[a] == IDLE && (a < 2 || phase[a - (a > 0)] != IDLE))
#else
#define may_begin(a) (phase[a] == IDLE && (a == 0 || phase[a - (a > 0)] != IDLE))
#endif

#if HEDGES
#define ASKS_FIRST(a, majority) :: asked[a] = majority

inline choose_asked(a)
{
    if
    EACH_MAJORITY(ASKS_FIRST, a)
    fi;
    unasked[a] = ALL_MEMBERS & ~asked[a]
}

inline hedge(a)
{
    asked[a] = asked[a] | unasked[a];
#ifdef MUTANT_HEDGE_UNDER_NEWEST_VIEW
    hedged[a] = unasked[a];
    learn(hedged_under[a]);
#endif
    printf("attempt %d: hedges to %d\n", a, unasked[a]);
    unasked[a] = 0
}

#define HEDGES_LATER(a) \
    :: atomic { !over && phase[a] == ASKING && unasked[a] != 0 -> hedge(a) }
#endif

inline begin(a)
{
    learn(named[a]);
#if HEDGES
    choose_asked(a);
#endif
    printf("attempt %d: begins under view 0%o\n", a, named[a]);
    d_step {
        phase[a] = ASKING;
#if !HEDGES
        asked[a] = (ONE_ASKS_FEW && a == 0 -> bit(Q) - 1 : ALL_MEMBERS);
#endif
        remember_grants(a)
    }
}

#define BEGINS(a) :: atomic { !over && may_begin(a) -> begin(a) }

/* Rule: it keeps to that view. */
#ifdef MUTANT_VIEW_CHANGES
inline learn_meanwhile(a)
{
    learn(named[a]);
    printf("attempt %d: goes on under view 0%o\n", a, named[a])
}

#define LEARNS_MEANWHILE(a) :: atomic { !over && phase[a] == ASKING -> learn_meanwhile(a) }
#endif

/* Step 1. */
#define may_ask(a, m) (!over && is_at(asked[a], m) && accepts_take(m, named_at(a, m)))
#define may_take(a, m) (may_ask(a, m) && can_be_taken(m))

inline count(m)
{
    counter[m]++;
    number[m] = counter[m];
    origin[m] = 0
}

inline take(a, m)
{
    if
    :: lock[m] != FREE -> expire(m)
    :: else
    fi;
    view[m] = adopted(m, named_at(a, m));
    lock[m] = of(a);
    count(m);
#if LEASES
    lease[m] = first_lease(a);
#endif
    act(m);
    printf("attempt %d: step 1 at master %d, answer %d\n", a, m, number[m])
}

inline hear(a, m)
{
    if
    :: phase[a] == ASKING && !is_stale(a, m) ->
        see_at_once(a, m);
        put_in(answered[a], m);
        answer_of(a, m) = number[m]
#ifdef MUTANT_LATE_ANSWER /* it joins the frozen set */
    :: phase[a] == CONFIRMING ->
        put_in(confirming[a], m);
        answer_of(a, m) = number[m]
#endif
    :: else
    fi
}

#define TAKES(a, m) \
    :: d_step { may_take(a, m) -> take(a, m); hear(a, m); take_out(asked[a], m) }

/* With a hint, the lock's number is above that, too. Rule: a lock that is found ignores it. */
#define TAKES_HINTED(a, m, hint) \
    :: d_step { \
        counter[m] < (hint) && may_take(a, m) -> \
        counter[m] = hint; \
        take(a, m); \
        hear(a, m); \
        take_out(asked[a], m) \
    }
#define TAKES_HINTED_1(a, m) TAKES_HINTED(a, m, 1)
#define TAKES_HINTED_2(a, m) TAKES_HINTED(a, m, 2)
#define TAKES_HINTED_3(a, m) TAKES_HINTED(a, m, 3)

/* The answer is lost, so that no server knows of the write. Without older files that is the same as
 * an answer that the attempt does not count. */
#define TAKES_UNANSWERED(a) \
    :: d_step { \
        is_counting() && phase[a] == ASKING && may_take(a, 0) -> \
        take(a, 0); \
        take_out(asked[a], 0) \
    }

/* The message arrives, and will arrive once more. */
#define TAKES_FIRST(a, m) \
    :: d_step { duplicates > 0 && may_take(a, m) -> take(a, m); hear(a, m); duplicates-- }

/* It arrives once more, and the client counts the first of its two answers. */
#define TAKES_UNHEARD(a, m) \
    :: d_step { \
        phase[a] == ASKING && is_at(answered[a], m) && may_take(a, m) -> \
        take(a, m); \
        take_out(asked[a], m) \
    }

/* Rule: an imported lock's number is never answered. Its attempt counts anew, and the lock is no
 * longer an import. */
#ifdef MUTANT_STORED_NUMBER_ANSWERED
#define is_counted_anew(m) false
#else
#define is_counted_anew(m) (origin[m] != 0)
#endif

/* What is left of the lease that it found bounds that of the attempt which counts it. */
inline bound_by_lease(a, m)
{
#if LEASES
    lease[m] = lease[m] | (phase[a] == ASKING -> first_lease(a) : 0)
#else
    skip
#endif
}

inline find(a, m, holder)
{
    if
    :: is_counted_anew(m) -> count(m)
    :: else
    fi;
    view[m] = adopted(m, named_at(a, m));
    lock[m] = holder;
    act(m);
    bound_by_lease(a, m);
    hear(a, m);
    take_out(asked[a], m);
    printf("attempt %d: finds its lock at master %d, answer %d\n", a, m, number[m])
}

#define FINDS_ITS_COPY(a, m) \
    :: d_step { may_ask(a, m) && lock[m] == of(a) && origin[m] != 0 -> find(a, m, lock[m]) }

/* Meeting its lock id under another attempt, it gets the number stored there. Rule: the lock is of
 * both from then on. */
#define has_its_id(a, m) \
    (is_of_first_client(a) && is_by_first_client(lock[m]) && lock[m] != of(a))
#ifdef MUTANT_NOT_OF_BOTH
#define of_both(m) lock[m]
#define is_of_both(a, m) has_its_id(a, m)
#else
#define of_both(m) STAR
#define is_of_both(a, m) (has_its_id(a, m) && lock[m] == STAR)
#endif

#define MEETS_ITS_ID(a, m) \
    :: d_step { may_ask(a, m) && has_its_id(a, m) -> find(a, m, of_both(m)) }

/* Steps 2 and 3: the first majority to answer fixes the token, and is frozen. Rule: q of N have to
 * agree, not of those that answered. */
#ifdef MUTANT_MAJORITY_OF_ANSWERS
#define ENOUGH (Q / 2 + 1)
#else
#define ENOUGH Q
#endif

inline fix_token(a, majority)
{
    i = 0;
    do
    :: i == N -> break
    :: i < N && (majority & bit(i)) ->
        if
        :: answer_of(a, i) > token[a] -> token[a] = answer_of(a, i); equal = 1
        :: answer_of(a, i) == token[a] -> equal++
        :: else
        fi;
        i++
    :: else -> i++
    od;
    i = 0;
    printf("attempt %d: freezes set %d, token %d\n", a, majority, token[a])
}

/* They are needed no more, and states that differ in them alone are one. */
inline forget_answers(a)
{
    answered[a] = 0;
#if HEDGES
    unasked[a] = 0;
#endif
#ifndef MUTANT_LATE_ANSWER
    i = 0;
    do
    :: i == N -> break
    :: else -> answer_of(a, i) = 0; i++
    od;
    i = 0
#endif
}

inline freeze(a, majority)
{
    fix_token(a, majority);
    see_late(a, majority);
    if
    :: equal >= ENOUGH -> grant(a)
    :: else -> phase[a] = CONFIRMING; confirming[a] = majority
    fi;
    equal = 0;
#if SURPLUS
    undoing[a] = ALL_MEMBERS & ~majority;
#endif
    forget_answers(a)
}

#define FREEZES(a, majority) \
    :: d_step { \
        !over && phase[a] == ASKING && may_be_granted(a) && \
        (answered[a] & majority) == majority -> \
        freeze(a, majority) \
    }

/* Step 4. Rule: the lock is still this attempt's, with a number that its token covers. */
#if defined(MUTANT_ID_ALONE)
#define number_fits(a, m) true
#elif defined(MUTANT_LATE_ANSWER) /* an exact check: fatal only together with the late answer */
#define number_fits(a, m) (number[m] == answer_of(a, m))
#else
#define number_fits(a, m) (number[m] <= token[a])
#endif
#ifdef MUTANT_CONFIRM_WITHOUT_VIEW
#define accepts_confirm(a, m) is_active(m)
#else
#define accepts_confirm(a, m) accepts(m, named[a])
#endif
#define may_confirm(a, m) \
    (!over && is_at(confirming[a], m) && accepts_confirm(a, m) && \
     (lock[m] == of(a) || is_of_both(a, m)) && number_fits(a, m))

inline raise(a, m)
{
    printf("attempt %d: confirmed at master %d\n", a, m);
#ifndef MUTANT_CONFIRM_WITHOUT_VIEW
    view[m] = adopted(m, named[a]);
#endif
    counter[m] = (counter[m] < token[a] -> token[a] : counter[m]);
    number[m] = token[a];
    act_of_confirm(m);
    take_out(confirming[a], m)
}

inline count_confirmed(a, m)
{
    if
    :: !is_stale(a, m) -> see(a, m); confirmed[a]++
    :: else
    fi;
    if
    :: phase[a] == CONFIRMING && confirmed[a] == ENOUGH && may_be_granted(a) ->
        grant(a);
        confirming[a] = 0;
        confirmed[a] = 0
    :: else
    fi
}

#define CONFIRMS(a, m) \
    :: d_step { may_confirm(a, m) -> raise(a, m); count_confirmed(a, m) }
#define CONFIRMS_UNANSWERED(a) \
    :: d_step { is_counting() && phase[a] == CONFIRMING && may_confirm(a, 0) -> raise(a, 0) }

/* Failing: a clean-up goes to every member, and names no view. Rule: it takes back its own attempt
 * alone. */
#ifdef MUTANT_CLEANUP_BY_LOCK_ID
#define may_undo_own(a, m) (lock[m] == of(a) || has_its_id(a, m))
#else
#define may_undo_own(a, m) (lock[m] == of(a))
#endif
#ifdef MUTANT_TOMBSTONE_DELETED
#define may_undo(a, m) (lock[m] == TOMBSTONE || may_undo_own(a, m))
#else
#define may_undo(a, m) may_undo_own(a, m)
#endif

inline send_undo(a)
{
    phase[a] = FAILED;
    undoing[a] = ALL_MEMBERS;
    forget_answers(a);
    rest_if_settled()
}

#define FAILS(a) \
    :: d_step { \
        !over && (phase[a] == ASKING || phase[a] == CONFIRMING) -> \
        printf("attempt %d: fails\n", a); \
        send_undo(a) \
    }

#if RELEASES
#define RELEASES_IT(a) \
    :: d_step { \
        !over && phase[a] == GRANTED -> \
        printf("attempt %d: releases\n", a); \
        released = released | bit(a); \
        send_undo(a) \
    }
#endif

#define UNDOES(a, m) \
    :: d_step { \
        !over && is_at(undoing[a], m) && phase[a] != CONFIRMING && may_undo(a, m) -> \
        printf("attempt %d: undone at master %d\n", a, m); \
        remove_lock(m); \
        act_of_undo(m); \
        take_out(undoing[a], m) \
    }
