/* How a master that is out is taken back. Any server may lead a rejoin. One that dies just stops;
 * one that was overtaken may go on. */

byte begun;
byte target[LEADERS];  /* 1 + the member; 0 before and after */
byte fresh[LEADERS];   /* the incarnation that it is to get */
VIEW knows[LEADERS];   /* the view that the leader's scripts name */
byte counted[LEADERS]; /* members whose counters were read, */
byte maximum[LEADERS]; /* and the highest of them */

/* Step 1: marks the master with a nonce of its own, and removes its locks. A durable master that
 * restarted keeps its lock and its counter. */
#if defined(MUTANT_READ_BEFORE_RECORD)
#define needs_leader(m) (state[m] == OUT && state[1 - (m)] == ACTIVE) /* so that q can be read */
#elif LEADERS_AT_ONCE > 1
#define needs_leader(m) (state[m] != ACTIVE)
#else
#define needs_leader(m) (state[m] == OUT || state[m] == OUT_INTACT)
#endif

/* The random parts of two leaders' incarnations may put them in either order. */
inline choose_incarnation(r, m)
{
#if defined(MUTANT_NOTHING_RECORDED)
    fresh[r] = 1
#elif LEADERS_AT_ONCE > 1
    if
    :: !(issued[m] & bit(2)) -> fresh[r] = 2
    :: !(issued[m] & bit(3)) -> fresh[r] = 3
    fi
#else
    fresh[r] = r + 2
#endif
}

inline wipe(m)
{
    counter[m] = 0;
#ifndef MUTANT_LOCKS_KEPT
    remove_lock(m)
#endif
}

inline mark(r, m)
{
    choose_incarnation(r, m);
    learn(knows[r]);
    d_step {
        knows[r] = with_incarnation(knows[r], m, fresh[r]);
        issued[m] = issued[m] | bit(fresh[r]);
        printf("leader %d: marks master %d, incarnation %d, view 0%o\n", r, m, fresh[r], knows[r]);
        if
        :: state[m] == OUT_INTACT
        :: else -> wipe(m)
        fi;
#ifdef MUTANT_READ_BEFORE_RECORD
        maximum[r] = (counter[2] > counter[1 - m] -> counter[2] : counter[1 - m]);
#endif
        state[m] = nonce(r);
        target[r] = m + 1;
        begun++
    }
}

#define MARKS_0(r) :: atomic { !over && begun == r && needs_leader(0) -> mark(r, 0) }
#define MARKS_1(r) :: atomic { !over && begun == r && needs_leader(1) -> mark(r, 1) }

/* Step 2, on q other active masters, in one script each: records the new incarnation, then returns
 * the counter. Like every script it names a view. A higher incarnation that another leader recorded
 * stays, and whether this leader then goes on or begins anew is all the same: under the lower one
 * the member gets no majority. */
#ifdef MUTANT_ONE_READ_FEWER
#define TO_READ (Q - 1)
#else
#define TO_READ Q
#endif
#ifdef MUTANT_LEADER_NAMES_NO_VIEW
#define leader_accepted(r, m) (state[m] == ACTIVE)
#else
#define leader_accepted(r, m) accepts(m, with_incarnation(knows[r], target[r] - 1, 7))
#endif
#define may_record(r, m) \
    (!over && target[r] != 0 && target[r] != 1 + member(m) && !is_at(counted[r], m) && \
     members_in(counted[r]) < TO_READ && leader_accepted(r, m))

inline record(r, m)
{
    printf("leader %d: recorded at master %d, counter %d\n", r, m, counter[m]);
#ifndef MUTANT_NOTHING_RECORDED
    if
    :: incarnation(view[m], target[r] - 1) < fresh[r] ->
        view[m] = with_incarnation(view[m], target[r] - 1, fresh[r])
    :: else
    fi;
#endif
#ifndef MUTANT_READ_BEFORE_RECORD
    maximum[r] = (counter[m] > maximum[r] -> counter[m] : maximum[r]);
#endif
    put_in(counted[r], m)
}

#define RECORDS(r, m) :: d_step { may_record(r, m) -> record(r, m) }

/* Step 3, the wait, is for exclusion alone.
 *
 * Step 4: admits the master. Rule: only while it has this leader's nonce. */
#ifdef MUTANT_NO_NONCE
#define nonce_matches(r) true
#else
#define nonce_matches(r) (state[target[r] - 1] == nonce(r))
#endif
#define may_admit(r) \
    (!over && target[r] != 0 && members_in(counted[r]) == TO_READ && nonce_matches(r))

inline admit(r, m)
{
    printf("leader %d: admits master %d, counter %d\n", r, m, maximum[r]);
    counter[m] = (maximum[r] > counter[m] -> maximum[r] : counter[m]);
    view[m] = knows[r];
    state[m] = ACTIVE
}

inline end_rejoin(r)
{
    target[r] = 0;
    fresh[r] = 0;
    knows[r] = 0;
    counted[r] = 0;
    maximum[r] = 0
}

#define ADMITS(r) :: d_step { may_admit(r) -> admit(r, target[r] - 1); end_rejoin(r) }

/* The message arrives, and will arrive once more. */
#define ADMITS_FIRST(r) \
    :: d_step { duplicates > 0 && may_admit(r) -> admit(r, target[r] - 1); duplicates-- }
