/* What masters may suffer. They are all alike, so the first to fail is called 0, and the next other
 * one 1. With OLDER_FILES the one that restarts from a copy is called 0. */

byte failures;

#define may_fail(m) \
    (!over && state[m] != OUT && ((m) == 0 || ((m) == 1 && (failures > 0 || OLDER_FILES))))

inline blank(m)
{
    remove_lock(m);
    counter[m] = 0;
#ifdef MUTANT_BLANK_VOTES
    view[m] = FIRST_VIEW;
    state[m] = ACTIVE;
#else
    view[m] = 0;
    state[m] = OUT;
#endif
    lineage[m] = KEPT;
#if HALF_WAY
    keeps[m] = false;
#endif
    failures++
}

#if FORGETTINGS
byte forgettings = FORGETTINGS;

#define FORGETS(m) \
    :: d_step { \
        forgettings > 0 && may_fail(m) -> \
        printf("master %d: forgets everything\n", m); \
        blank(m); \
        forgettings-- \
    }
#endif

#if ROLLBACKS || OLDER_FILES
/* An older state of a member, its marker included, which it is put back to: by a restart with what
 * had reached its disk, or in one process that was the replica of an older copy for a while. In the
 * latter connections and scripts on their way live on. */
byte rollbacks = ROLLBACKS + OLDER_FILES;
byte saved; /* 1 + the member; 0 before and after */
byte saved_counter;
byte saved_lock;
byte saved_number;
byte saved_origin;
byte saved_state;
VIEW saved_view;
#if LEASES
byte saved_lease;
#endif
#if HALF_WAY && OLDER_FILES
bool saved_keeps;
#endif
#if OLDER_FILES > 1
byte saved_acts;
#ifndef MUTANT_BELIEF_UNCOUNTED
byte saved_beliefs;
#endif
#endif

inline forget_saved()
{
    saved = 0;
    saved_counter = 0;
    saved_lock = FREE;
    saved_number = 0;
    saved_origin = 0;
    saved_state = ACTIVE;
#if LEASES
    saved_lease = 0;
#endif
#if HALF_WAY && OLDER_FILES
    saved_keeps = false;
#endif
#if OLDER_FILES > 1
    saved_acts = 0;
#ifndef MUTANT_BELIEF_UNCOUNTED
    saved_beliefs = 0;
#endif
#endif
    saved_view = 0
}

inline save(m)
{
    saved = (m) + 1;
    saved_counter = counter[m];
    saved_lock = lock[m];
    saved_number = number[m];
    saved_origin = origin[m];
    saved_state = state[m];
#if LEASES
    saved_lease = lease[m];
#endif
#if HALF_WAY && OLDER_FILES
    saved_keeps = keeps[m];
#endif
    copied_ahead(m);
    saved_view = view[m]
}

inline roll_back(m)
{
    counter[m] = saved_counter;
    lock[m] = saved_lock;
    number[m] = saved_number;
    origin[m] = saved_origin;
    state[m] = saved_state;
#if LEASES
    lease[m] = saved_lease;
#endif
    view[m] = saved_view;
    lineage[m] = CHANGED;
    rollbacks--;
    failures++;
    forget_saved()
}

#define SAVES(m) \
    :: d_step { \
        rollbacks > 0 && saved == 0 && may_fail(m) && lineage[m] == KEPT -> \
        printf("master %d: saves its state\n", m); \
        save(m) \
    }

#if OLDER_FILES
#define ROLLS_BACK(m) \
    :: d_step { \
        has_copy() && !over -> \
        printf("master %d: restarts from the file that was copied\n", m); \
        restart_from_copy(m) \
    }
#else
#define ROLLS_BACK(m) \
    :: d_step { \
        saved == (m) + 1 && may_fail(m) -> \
        printf("master %d: goes back to the state that it saved\n", m); \
        roll_back(m) \
    }
#endif
#endif

#if OLDER_FILES > 1
short swapped; /* 0 between steps */
#define swap(a, b) swapped = a; a = b; b = swapped
#endif

/* The file says that the member is durable, and lost nothing. With OLDER_FILES = 2 the file that the
 * member had is kept, and put back later. */
#if OLDER_FILES
inline restart_from_copy(m)
{
#if OLDER_FILES > 1
    swap(counter[m], saved_counter);
    swap(lock[m], saved_lock);
    swap(number[m], saved_number);
    swap(origin[m], saved_origin);
    swap(state[m], saved_state);
    swap(view[m], saved_view);
    swap(acts, saved_acts);
#ifndef MUTANT_BELIEF_UNCOUNTED
    swap(beliefs, saved_beliefs);
#endif
    swapped = 0;
    rollbacks--;
    failures++;
    if
    :: rollbacks == 0 -> forget_saved()
    :: else
    fi;
#else
#if HALF_WAY
    keeps[m] = saved_keeps;
#endif
    acts = 0;
    roll_back(m);
#endif
    lineage[m] = RESTARTED
}
#endif

#if RESTARTS
byte restarts = RESTARTS;

#define RESTARTS_INTACT(m) \
    :: d_step { \
        restarts > 0 && may_fail(m) && lineage[m] == KEPT -> \
        printf("master %d: restarts with all its data\n", m); \
        lineage[m] = RESTARTED; \
        restarts--; \
        failures++ \
    }
#endif

#if RESTARTS || OLDER_FILES
/* A server that sees no majority of others active trusts the disk of a durable member. The member
 * is then what its marker says. (Others may be active all the same, and another server see them.)
 * A member that is joining has to be marked anew, unless it kept all it knew (HALF_WAY). Rule: the
 * disk is not older than what is known of it. */
#define IS_TRUSTED(m) \
    :: d_step { \
        !over && lineage[m] == RESTARTED && state[m] == ACTIVE && !is_older(m) -> \
        printf("master %d: is trusted\n", m); \
        lineage[m] = KEPT; \
        believe(m) \
    }

#if HALF_WAY
#define IS_TRUSTED_HALF_WAY(m) \
    :: d_step { \
        !over && state[m] >= 2 && keeps[m] && !is_older_half_way(m) -> \
        printf("master %d: is trusted half-way, as %d\n", m, state[m]); \
        view[m] = with_incarnation(view[m], member(m), state[m]); \
        state[m] = ACTIVE; \
        lineage[m] = KEPT; \
        keeps[m] = false; \
        count_anew(m) \
    }
#endif
#endif

#if REPLACEMENTS
bool replaced;

/* The old machine knows nothing of it, and clients and leaders reach the one or the other. */
#define IS_REPLACED(m) \
    :: d_step { \
        !replaced && may_fail(m) -> \
        printf("master %d: replaced; its old machine is now %d\n", m, OLD_MACHINE); \
        counter[OLD_MACHINE] = counter[m]; \
        lock[OLD_MACHINE] = lock[m]; \
        number[OLD_MACHINE] = number[m]; \
        origin[OLD_MACHINE] = origin[m]; \
        view[OLD_MACHINE] = view[m]; \
        state[OLD_MACHINE] = state[m]; \
        lineage[OLD_MACHINE] = lineage[m]; \
        copy_lease(OLD_MACHINE, m); \
        copy_keeps(OLD_MACHINE, m); \
        blank(m); \
        replaced = true \
    }

inline copy_lease(to, from)
{
#if LEASES
    lease[to] = lease[from]
#else
    skip
#endif
}

inline copy_keeps(to, from)
{
#if HALF_WAY
    keeps[to] = keeps[from]
#else
    skip
#endif
}
#endif
