/* Leases, where clocks are trusted. A lease begins before its first lock is taken, so it is over
 * before any of its locks expires. Each attempt has a first lease and, with EXTENSIONS, a longer
 * one; or, with ROUNDS, one a round. A lock that was extended lives until the longer lease is over. */

#define NOT_YET 0 /* of an extension */
#define EXTENDING 1
#define EXTENDED 2
#define ENDED 3 /* it failed, or the lock is lost */

#if LEASES
byte leases_over; /* a bit each */

#define first_lease(a) bit(a)
#define longer_lease(a) bit((a) + ATTEMPTS)
#define is_over(which) ((leases_over & (which)) != 0)

/* That a lease is over matters where a lock expires, so it ends just before one does. */
inline end_leases(m)
{
    leases_over = leases_over | lease[m]
}

/* Rule: a lock that was met in an import counts for its holder only if enough copies did. */
#ifdef MUTANT_EXTENSION_COUNTS_ANY_IMPORT
#define may_count(m) (lock[m] != TOMBSTONE)
#else
#define may_count(m) counts(m)
#endif

#if EXTENSIONS
byte extensions = EXTENSIONS;

/* An extension is one round: a script to every member. It names the view known when it begins. */
#define EXTENSION_STATE \
    byte extends[ATTEMPTS]; \
    VIEW extends_under[ATTEMPTS]; \
    byte extending[ATTEMPTS];  /* members where it may still arrive */ \
    byte extended_at[ATTEMPTS]; /* how many agreed */

inline begin_extension(a)
{
    learn(extends_under[a]);
    printf("attempt %d: begins to extend under view 0%o\n", a, extends_under[a]);
    d_step {
        extensions--;
        extends[a] = EXTENDING;
        extending[a] = ALL_MEMBERS
    }
}

#define EXTENDS(a) \
    :: atomic { \
        !over && extensions > 0 && phase[a] == GRANTED && extends[a] == NOT_YET && \
        !is_over(first_lease(a)) -> \
        begin_extension(a) \
    }

/* Rule: the lock has this id and a number that the token covers, and it counts. */
#ifdef MUTANT_EXTENSION_WITHOUT_VIEW
#define accepts_extension(a, m) is_active(m)
#else
#define accepts_extension(a, m) accepts(m, extends_under[a])
#endif
#ifdef MUTANT_TOMBSTONE_EXTENDED
#define may_extend_lock(a, m) (lock[m] == TOMBSTONE || may_extend_own(a, m))
#else
#define may_extend_lock(a, m) may_extend_own(a, m)
#endif
#ifdef MUTANT_EXTENSION_IGNORES_NUMBER
#define may_extend_own(a, m) (lock[m] == of(a) && may_count(m))
#else
#define may_extend_own(a, m) (lock[m] == of(a) && number[m] <= token[a] && may_count(m))
#endif
#define may_extend(a, m) \
    (!over && is_at(extending[a], m) && accepts_extension(a, m) && may_extend_lock(a, m))

inline lengthen(a, m)
{
    printf("attempt %d: extended at master %d\n", a, m);
#ifndef MUTANT_EXTENSION_WITHOUT_VIEW
    view[m] = adopted(m, extends_under[a]);
#endif
    lease[m] = lease[m] | longer_lease(a);
    act_of_extension(m);
    take_out(extending[a], m)
}

inline count_extended(a, m)
{
    if
    :: !is_stale(a, m) -> see(a, m); extended_at[a]++
    :: else
    fi;
    if
    :: extended_at[a] == Q ->
        if
        :: !is_over(first_lease(a)) ->
            printf("attempt %d: holds on\n", a);
            extends[a] = EXTENDED
        :: else
        fi
    :: else
    fi
}

#define EXTENDS_AT(a, m) :: d_step { may_extend(a, m) -> lengthen(a, m); count_extended(a, m) }
#define EXTENDS_UNANSWERED(a) \
    :: d_step { is_counting() && extends[a] == EXTENDING && may_extend(a, 0) -> lengthen(a, 0) }

#define holds(a) \
    (phase[a] == GRANTED && \
     (!is_over(first_lease(a)) || (extends[a] == EXTENDED && !is_over(longer_lease(a)))))
#elif ROUNDS
/* A round has a lease of its own. */
#define lease_of(r) bit((r) + ATTEMPTS)
#define holds_by(r) (extended[r] == EXTENDED && !is_over(lease_of(r)))
#define may_still_extend(r) \
    (extended[r] == NOT_YET || (extended[r] == EXTENDING && !is_over(lease_of(r))))
#define others_are_past(r) (members_in(past[r]) >= N - Q + 1)
#if ROUNDS == 1
#define holds_on() holds_by(0)
#define may_extend_still() may_still_extend(0)
#else
#define holds_on() (holds_by(0) || holds_by(1))
#define may_extend_still() (may_still_extend(0) || may_still_extend(1))
#endif
#ifdef SAME_LOCK_ID
#define first_client_had_it() (phase[0] == GRANTED || phase[1] == GRANTED)
#define first_client_holds() (holds(0) || holds(1))
#else
#define first_client_had_it() (phase[0] == GRANTED)
#define first_client_holds() holds(0)
#endif
#define holds(a) \
    ((phase[a] == GRANTED && !is_over(first_lease(a))) || (is_of_first_client(a) && holds_on()))
#define may_be_extended() (is_in_time() && may_extend_still())

/* Rule: a lease is extended while it lasts. With REVIVALS nobody sees to that. */
#if REVIVALS
#define is_in_time() first_client_had_it()
#else
#define is_in_time() first_client_holds()
#endif
#else
#define holds(a) (phase[a] == GRANTED && !is_over(first_lease(a)))
#endif
#else
#define is_over(which) false
#endif
