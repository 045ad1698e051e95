/* Extensions that join masters which do not have the lock. A round is of the client of attempt 0,
 * and of a server: it has a view, a tag and a token, which is that of a grant or, with ABOVE, one
 * that the client made up.
 *
 * A script goes to every member: it extends, or answers why not. Where the answer was "free" a
 * second script follows, which joins. An answer that is lost is one that comes after the round. */

#define ROUND_STATE \
    byte extended[ROUNDS];      /* how far the round is */ \
    VIEW round_view[ROUNDS]; \
    byte round_token[ROUNDS]; \
    byte extending[ROUNDS];     /* members where its script may still arrive */ \
    byte joinable[ROUNDS];      /* members that answered "free", and where its join may arrive */ \
    byte joined_at[ROUNDS];     /* members where its join arrived */ \
    bool proved[ROUNDS];        /* it extended a lock whose number is the token */ \
    byte yes[ROUNDS];           /* members that extended or joined, */ \
    byte past[ROUNDS];          /* that had given the lock to others since, */ \
    byte absent[ROUNDS];        /* and that did not have it, for whatever reason */ \
    byte unjoining[ROUNDS]; /* members where its clean-up may still arrive */ \
    DROP_STATE

#if LEASES
byte lost; /* the highest token that others were past when its client was told that it is lost */
#endif

#if defined(MUTANT_OWN_ID_IS_PAST) || defined(MUTANT_TOMBSTONE_IS_PAST)
#define DROPS
#define DROP_STATE byte dropping[ROUNDS]; /* members where the lock may still be dropped */
#else
#define DROP_STATE
#endif

inline name_token(r, a)
{
#if ABOVE
    if
    :: round_token[r] = token[a]
    :: round_token[r] = token[a] + 1
    fi
#else
    round_token[r] = token[a]
#endif
}

inline begin_round(r, a)
{
    learn(round_view[r]);
    name_token(r, a);
    printf("round %d: of attempt %d, token %d, under view 0%o\n",
        r, a, round_token[r], round_view[r]);
    d_step {
        extended[r] = EXTENDING;
        extending[r] = ALL_MEMBERS
    }
}

#if LEASES
#define may_be_begun() may_be_extended()
#else
#define may_be_begun() true
#endif

/* Which of two like rounds is called the first is arbitrary. */
#define BEGINS_ROUND_OF(r, a) \
    :: atomic { \
        !over && may_be_begun() && extended[r] == NOT_YET && (r == 0 || extended[0] != NOT_YET) && \
        phase[a] == GRANTED -> \
        begin_round(r, a) \
    }
#ifdef SAME_LOCK_ID
#define BEGINS_ROUND(r) BEGINS_ROUND_OF(r, 0) BEGINS_ROUND_OF(r, 1)
#else
#define BEGINS_ROUND(r) BEGINS_ROUND_OF(r, 0)
#endif

/* Rule: it joins only after a master extended a lock whose number is the token. The token of
 * another lock says nothing of the counters that this one covers. */
#ifdef MUTANT_JOIN_UNDER_ANY_TOKEN
#define proves(r, m) true
#else
#define proves(r, m) (number[m] == round_token[r])
#endif
#define joins_sent(r) (extended[r] != EXTENDING || proved[r] -> joinable[r] : 0)
#ifdef MUTANT_ROUND_WITHOUT_VIEW
#define accepts_round(r, m) is_active(m)
#define view_after(r, m) view[m]
#else
#define accepts_round(r, m) accepts(m, round_view[r])
#define view_after(r, m) adopted(m, round_view[r])
#endif
#define is_reached(r, m) \
    (!over && is_at(extending[r] | joins_sent(r), m) && accepts_round(r, m))

/* The lock has the client's id, under a number that the token covers, and counts. Rule: from then
 * on it is of all that the client sent, so no clean-up removes it. */
#ifdef MUTANT_EXTENSION_WITHOUT_STAR
#define extended_lock(m) lock[m]
#else
#define extended_lock(m) STAR
#endif
#define is_own(m) is_by_first_client(lock[m])
#define has_it(r, m) (is_own(m) && number[m] <= round_token[r] && may_be_extended_at(m))
#if LEASES
#define may_be_extended_at(m) may_count(m)
#else
#define may_be_extended_at(m) counts(m)
#endif

inline lengthen(r, m)
{
#if LEASES
    lease[m] = lease[m] | lease_of(r);
#endif
    act_of_extension(m);
    view[m] = view_after(r, m)
}

inline arrive(r, m)
{
    if
    :: is_at(joinable[r], m) && extended[r] == EXTENDING -> put_in(joined_at[r], m)
    :: else
    fi;
    take_out(extending[r], m);
    take_out(joinable[r], m)
}

inline extend_in(r, m)
{
    printf("round %d: extends lock %d, number %d at master %d\n", r, lock[m], number[m], m);
    lock[m] = extended_lock(m);
    lengthen(r, m);
    proved[r] = (extended[r] == EXTENDING && (proved[r] || proves(r, m)))
}

#define EXTENDS_IN(r, m) \
    :: d_step { \
        is_reached(r, m) && has_it(r, m) -> \
        extend_in(r, m); \
        arrive(r, m); \
        agree(r, m) \
    }

#define EXTENDS_UNANSWERED_IN(r) \
    :: d_step { \
        is_counting() && extended[r] == EXTENDING && is_reached(r, 0) && has_it(r, 0) -> \
        extend_in(r, 0); \
        arrive(r, 0) \
    }

/* Rule: a master is joined only if its counter is not past the token, so that nobody had the lock
 * there since. */
#ifdef MUTANT_JOIN_PAST_TOKEN
#define is_past(r, m) false
#else
#define is_past(r, m) (counter[m] > round_token[r])
#endif

inline vacate(m)
{
    if
    :: lock[m] != FREE -> expire(m)
    :: else
    fi
}

inline join(r, m)
{
    lock[m] = joined(r);
    number[m] = round_token[r];
    origin[m] = 0;
    counter[m] = (counter[m] < round_token[r] -> round_token[r] : counter[m]);
    lengthen(r, m);
    printf("round %d: joins master %d, counter %d\n", r, m, counter[m])
}

#define JOINS_AT(r, m) \
    :: d_step { \
        is_reached(r, m) && is_at(joins_sent(r), m) && can_be_taken(m) && !is_past(r, m) -> \
        vacate(m); \
        join(r, m); \
        arrive(r, m); \
        agree(r, m) \
    }

#define JOINS_UNANSWERED(r) \
    :: d_step { \
        is_counting() && extended[r] == EXTENDING && is_reached(r, 0) && \
        is_at(joins_sent(r), 0) && can_be_taken(0) && !is_past(r, 0) -> \
        vacate(0); \
        join(r, 0); \
        arrive(r, 0) \
    }

/* Answers that are no yes. They matter only while the round lasts. "Past" is a lock of another id,
 * or none, where the counter is above the token. Rule: a lock of the client's own id never is, and
 * a tombstone never. */
#ifdef MUTANT_OWN_ID_IS_PAST
#define own_is_past(r, m) (is_own(m) && !has_it(r, m))
#else
#define own_is_past(r, m) false
#endif
#ifdef MUTANT_TOMBSTONE_IS_PAST
#define is_of_others(m) (!is_own(m) && lock[m] != FREE)
#else
#define is_of_others(m) (!is_own(m) && lock[m] != FREE && lock[m] != TOMBSTONE)
#endif
#define counter_is_past(r, m) (counter[m] > round_token[r])
#define is_heard(r, m) (is_reached(r, m) && extended[r] == EXTENDING && !is_stale(0, m))

inline miss(r, m)
{
    arrive(r, m);
    view[m] = view_after(r, m);
    see_miss(m);
    put_in(absent[r], m);
    printf("round %d: the lock is not at master %d\n", r, m)
}

inline find_past(r, m)
{
    put_in(past[r], m);
    miss(r, m);
    judge(r)
}

#define ANSWERS_FREE(r, m) \
    :: d_step { \
        is_heard(r, m) && is_at(extending[r], m) && can_be_taken(m) && !is_past(r, m) -> \
        vacate(m); \
        miss(r, m); \
        put_in(joinable[r], m); \
        judge(r) \
    }
#if LEASES
#define TELLS_ABSENT(r, m) \
    ANSWERS_FREE(r, m) \
    :: d_step { \
        is_heard(r, m) && can_be_taken(m) && !is_of_others(m) && counter_is_past(r, m) -> \
        vacate(m); \
        find_past(r, m) \
    } \
    :: d_step { \
        is_heard(r, m) && (is_of_others(m) || own_is_past(r, m)) && counter_is_past(r, m) -> \
        find_past(r, m) \
    } \
    :: d_step { \
        is_heard(r, m) && is_of_others(m) && !counter_is_past(r, m) -> \
        miss(r, m); \
        judge(r) \
    }
#else
#define TELLS_ABSENT(r, m) ANSWERS_FREE(r, m)
#endif

/* Rule: q of N have to agree in one round. */
inline agree(r, m)
{
    if
    :: extended[r] == EXTENDING && !is_stale(0, m) ->
        see(0, m);
        put_in(yes[r], m);
        absent[r] = absent[r] & ~yes[r];
        judge(r)
    :: else
    fi
}

#ifdef MUTANT_ROUNDS_ADDED_UP
#define all_yes(r) (yes[0] | yes[1])
#define KEEPS_YES 1
#else
#define all_yes(r) yes[r]
#define KEEPS_YES 0
#endif

/* Rule: it is lost only where no later round can have a majority: N - q + 1 members are past it, or
 * all do not have it. */
#if !LEASES
#define is_lost(r) false /* which matters only to exclusion */
#elif defined(MUTANT_ABSENT_IS_LOST)
#define is_lost(r) (members_in(absent[r]) >= N - Q + 1)
#elif REVIVALS
#define is_lost(r) others_are_past(r)
#else
#define is_lost(r) (others_are_past(r) || absent[r] == ALL_MEMBERS)
#endif

#if LEASES
#define may_succeed(r) (is_in_time() && !is_over(lease_of(r)))
#else
#define may_succeed(r) true
#endif

inline judge(r)
{
    if
    :: members_in(all_yes(r)) >= Q && may_succeed(r) -> succeed(r)
    :: members_in(all_yes(r)) < Q && is_lost(r) -> lose(r)
    :: else
    fi
}

/* Rule: a round that failed takes back its own joins alone, wherever one went. */
#ifdef MUTANT_JOIN_CLEANED_BY_ID
#define may_unjoin(r, m) is_own(m)
#else
#define may_unjoin(r, m) (lock[m] == joined(r))
#endif

inline end_round(r, how)
{
    joinable[r] = joins_sent(r);
    extended[r] = how;
    unjoining[r] = (how == ENDED -> joinable[r] | joined_at[r] : 0);
    joined_at[r] = 0;
    proved[r] = false;
    yes[r] = (KEEPS_YES -> yes[r] : 0);
    past[r] = 0;
    absent[r] = 0;
    rest_if_settled()
}

#define ROUND_FAILS(r) \
    :: d_step { \
        !over && extended[r] == EXTENDING -> \
        printf("round %d: fails\n", r); \
        end_round(r, ENDED) \
    }

#define UNDOES_JOIN(r, m) \
    :: d_step { \
        !over && is_at(unjoining[r], m) && may_unjoin(r, m) -> \
        printf("round %d: undone at master %d\n", r, m); \
        remove_lock(m); \
        act_of_undo(m); \
        take_out(unjoining[r], m) \
    }

inline succeed(r)
{
    printf("round %d: extended\n", r);
#if LEASES
    check_extended(r);
#endif
    end_round(r, EXTENDED)
}

inline lose(r)
{
    printf("round %d: lost\n", r);
#if LEASES && !defined(DROPS)
    check_lost(r);
#endif
#ifdef DROPS
    dropping[r] = ALL_MEMBERS;
#endif
    end_round(r, ENDED)
}

/* To drop a lock that is lost: no rule does. It shows what a wrong answer may lead to. */
#ifdef DROPS
#define DROPS_AT(r, m) \
    :: d_step { \
        !over && is_at(dropping[r], m) && is_own(m) -> \
        printf("round %d: drops lock %d at master %d\n", r, lock[m], m); \
        remove_lock(m); \
        take_out(dropping[r], m) \
    }
#endif
