/* How a master that is out is taken back. Any server may lead a rejoin. One that dies just stops;
 * one that was overtaken may go on. */

byte begun;
byte target[LEADERS];  /* 1 + the machine; 0 before and after */
VIEW knows[LEADERS];   /* the view that the leader's scripts name, the new incarnation in it */
byte counted[LEADERS]; /* members whose counters were read, */
byte maximum[LEADERS]; /* and the highest of them */

#define taken_back(r) member(target[r] - 1)
#define fresh(r) incarnation(knows[r], taken_back(r))

/* What the marker says of the member's own incarnation: what it is, and, where it was claimed, what
 * it is to be. */
#define is_claimed(m) (state[m] != ACTIVE && state[m] != OUT && state[m] != INTACT)
#define claimant(m) (state[m] - (is_intact(m) -> keeping(0) : joining(0)))
#define meant(m) (is_claimed(m) && target[claimant(m)] != 0 -> fresh(claimant(m)) : 0)
#define own_marked(m) (meant(m) > is_now(m) -> meant(m) : is_now(m))

/* Step 1: claims the master with a nonce of its own, and removes its locks. To judge it and to
 * claim it is one step here, since a claim does nothing where the marker is not the one judged. */
#if defined(MUTANT_READ_BEFORE_RECORD)
#define needs_leader(m) (state[m] == OUT && state[1 - (m)] == ACTIVE) /* so that q can be read */
#elif LEADERS_AT_ONCE > 1
#if RESTARTS /* one turn of the first machine, and one empty machine: there are no more numbers */
#define needs_leader(m) \
    (state[m] != ACTIVE && (is_intact(m) -> is_now(m) == 1 : !(issued[member(m)] & bit(3))))
#else
#define needs_leader(m) (state[m] != ACTIVE && own_marked(m) < 3)
#endif
#else
#define needs_leader(m) (state[m] == OUT || state[m] == INTACT)
#endif

byte known; /* of the member's own incarnation, by the leader that claims it; 0 between steps */

inline learn_own(m)
{
    if
    :: known = 1
    :: (issued[member(m)] & bit(2)) -> known = 2
#if RESTARTS
    :: is_intact(m) && (of_first[member(m)] & bit(3)) -> known = 3
#endif
    fi
}

/* One that is intact keeps its locks; but not if another machine is known to have taken its place. */
#define keeps_locks(m) (is_intact(m) && (known <= is_now(m) || is_of_first(member(m), known)))

/* Higher than what this leader knows, and than what the marker says. The random parts of two
 * leaders' may put them in either order, if the master forgot in between. (Above 3 there would be
 * 4: which is as if the two that came before were 1 and 2.) */
#define is_free(m, x) (!(issued[member(m)] & bit(x)) && known < (x) && own_marked(m) < (x))

/* Rule: whatever a machine that keeps its locks is going to be ranks below any empty machine in its
 * place, whoever knows of that. So where masters may restart intact, 2 is what the first machine of
 * a member becomes when it comes back, and 3 is the empty one. */
#ifdef MUTANT_MACHINES_UNRANKED
#define may_be(m, x) (is_free(m, x) || (is_intact(m) && is_of_first(member(m), x)))
#else
#define may_be(m, x) ((x) == (keeps_locks(m) -> 2 : 3))
#endif

inline choose_incarnation(r, m)
{
#if defined(MUTANT_NOTHING_RECORDED)
    knows[r] = with_incarnation(knows[r], m, 1)
#elif RESTARTS
    if
    :: may_be(m, 2) -> knows[r] = with_incarnation(knows[r], member(m), 2)
    :: may_be(m, 3) -> knows[r] = with_incarnation(knows[r], member(m), 3)
    fi
#elif LEADERS_AT_ONCE > 1
    if
    :: is_free(m, 2) -> knows[r] = with_incarnation(knows[r], m, 2)
    :: is_free(m, 3) -> knows[r] = with_incarnation(knows[r], m, 3)
    fi
#else
    knows[r] = with_incarnation(knows[r], m, r + 2)
#endif
}

inline claim(r, m)
{
    if
    :: keeps_locks(m) ->
        printf("master %d: keeps its locks\n", m);
        state[m] = keeping(r)
    :: else ->
#ifndef MUTANT_LOCKS_KEPT
        remove_lock(m);
#endif
        state[m] = joining(r)
    fi;
#ifdef MUTANT_READ_BEFORE_RECORD
    maximum[r] = (counter[2] > counter[1 - m] -> counter[2] : counter[1 - m]);
#endif
    target[r] = m + 1;
    begun++
}

inline lead(r, m)
{
    learn(knows[r]);
    learn_own(m);
    choose_incarnation(r, m);
    d_step {
        printf("leader %d: claims master %d, view 0%o\n", r, m, knows[r]);
        claim(r, m);
        known = 0;
        issued[member(m)] = issued[member(m)] | bit(fresh(r));
#if RESTARTS
        if
        :: is_intact(m) -> of_first[member(m)] = of_first[member(m)] | bit(fresh(r))
        :: else
        fi
#endif
    }
}

#define CLAIMS_0(r) :: atomic { !over && begun == r && needs_leader(0) -> lead(r, 0) }
#if RESTARTS && REPLACEMENTS
#define CLAIMS_OLD(r) \
    :: atomic { \
        !over && begun == r && is_intact(OLD_MACHINE) && needs_leader(OLD_MACHINE) -> \
        lead(r, OLD_MACHINE) \
    }
#endif
#define CLAIMS_1(r) :: atomic { !over && begun == r && needs_leader(1) -> lead(r, 1) }

/* A late copy of the claim finds the master blank once more. That the admission is refused then,
 * since nothing was wiped, is for exclusion alone; here it is not. */
#define CLAIMS_AGAIN(r) \
    :: d_step { \
        !over && duplicates > 0 && target[r] != 0 && state[target[r] - 1] == OUT -> \
        printf("leader %d: claims master %d again\n", r, target[r] - 1); \
        state[target[r] - 1] = joining(r); \
        duplicates-- \
    }

/* Step 2, on q other active masters, in one script each: records the new incarnation, then returns
 * the counter. Like every script it names a view, which is all it takes to record it: the master
 * adopts it, or refuses. (There are many counters, and they are read some at a time, under that
 * view each time: here, a master may have been told before it is read.) */
#ifdef MUTANT_ONE_READ_FEWER
#define TO_READ (Q - 1)
#else
#define TO_READ Q
#endif
#ifdef MUTANT_LEADER_NAMES_NO_VIEW
#define record_accepted(r, m) (state[m] == ACTIVE && !is_behind(m, knows[r], taken_back(r)))
#define recorded(r, m) with_incarnation(view[m], taken_back(r), fresh(r))
#else
#define record_accepted(r, m) accepts(m, knows[r])
#define recorded(r, m) adopted(m, knows[r])
#endif
#define is_reading(r) (!over && target[r] != 0 && members_in(counted[r]) < TO_READ)
#define may_record(r, m) \
    (is_reading(r) && taken_back(r) != member(m) && !is_at(counted[r], m) && record_accepted(r, m))

inline record(r, m)
{
    printf("leader %d: recorded at master %d, counter %d\n", r, m, counter[m]);
    view[m] = recorded(r, m);
#ifndef MUTANT_READ_BEFORE_RECORD
    maximum[r] = (counter[m] > maximum[r] -> counter[m] : maximum[r]);
#endif
    put_in(counted[r], m)
}

#define RECORDS(r, m) :: d_step { may_record(r, m) -> record(r, m) }

/* Rule: a leader that learns of another view reads all anew. */
inline read_anew(r)
{
    known = fresh(r);
    learn(knows[r]);
    d_step {
        knows[r] = with_incarnation(knows[r], taken_back(r), known);
        known = 0;
#ifndef MUTANT_READ_UNDER_TWO_VIEWS
        counted[r] = 0;
        maximum[r] = 0;
#endif
        printf("leader %d: learns view 0%o\n", r, knows[r])
    }
}

#define LEARNS(r) :: atomic { is_reading(r) && counted[r] != 0 -> read_anew(r) }

/* Step 3, the wait, is for exclusion alone.
 *
 * Step 4: admits the master. Rule: only while it has this leader's nonce. */
#ifdef MUTANT_NO_NONCE
#define nonce_matches(r) true
#else
#define nonce_matches(r) \
    (state[target[r] - 1] == joining(r) || state[target[r] - 1] == keeping(r))
#endif
#define may_admit(r) \
    (!over && target[r] != 0 && members_in(counted[r]) == TO_READ && nonce_matches(r))

/* Rule: it knows of the others what the leader knows, and what it recorded itself. (What the leader
 * learnt since it read the counters goes along; here it is told by another script.) */
#define raised(v, by, whose) \
    (incarnation(by, whose) > incarnation(v, whose) \
         -> with_incarnation(v, whose, incarnation(by, whose)) \
         : (v))
#ifdef MUTANT_VIEW_NOT_ADMITTED
#define view_admitted(r, m) with_incarnation(view[m], member(m), fresh(r))
#else
#define view_admitted(r, m) raised(knows[r], view[m], 1 - member(m))
#endif

inline admit(r, m)
{
    printf("leader %d: admits master %d, counter %d\n", r, m, maximum[r]);
    counter[m] = (maximum[r] > counter[m] -> maximum[r] : counter[m]);
    view[m] = view_admitted(r, m);
    state[m] = ACTIVE
}

inline end_rejoin(r)
{
    target[r] = 0;
    knows[r] = 0;
    counted[r] = 0;
    maximum[r] = 0
}

#define ADMITS(r) :: d_step { may_admit(r) -> admit(r, target[r] - 1); end_rejoin(r) }

/* The message arrives, and will arrive once more. */
#define ADMITS_FIRST(r) \
    :: d_step { duplicates > 0 && may_admit(r) -> admit(r, target[r] - 1); duplicates-- }
