/* What masters may suffer. They are all alike, so the first to fail is called 0, and the next other
 * one 1. */

byte failures;

#define may_fail(m) (!over && state[m] != OUT && ((m) == 0 || ((m) == 1 && failures > 0)))

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

#if TAIL_LOSSES
/* What reached the disk of member 0, for it to find after its crash. */
bool lost_tail;
bool saved;
byte saved_counter;
byte saved_lock;
byte saved_number;
VIEW saved_view;

/* Rule: who lost even a second does not vote before it rejoined. */
#ifdef MUTANT_TAIL_LOSS_VOTES_ON
#define AFTER_TAIL_LOSS ACTIVE
#else
#define AFTER_TAIL_LOSS OUT
#endif

inline keep(now_saved, its_counter, its_lock, its_number, its_view)
{
    saved = now_saved;
    saved_counter = its_counter;
    saved_lock = its_lock;
    saved_number = its_number;
    saved_view = its_view
}

#define SAVES(m) \
    :: d_step { \
        !lost_tail && !saved && may_fail(m) && state[m] == ACTIVE -> \
        printf("master %d: saves its state\n", m); \
        keep(true, counter[m], lock[m], number[m], view[m]) \
    }

#define LOSES_TAIL(m) \
    :: d_step { \
        saved && may_fail(m) -> \
        printf("master %d: restarts with the state it saved\n", m); \
        counter[m] = saved_counter; \
        lock[m] = saved_lock; \
        number[m] = saved_number; \
        view[m] = saved_view; \
        keep(false, 0, 0, 0, 0); \
        state[m] = AFTER_TAIL_LOSS; \
        lost_tail = true; \
        failures++ \
    }
#endif

#if RESTARTS
byte restarts = RESTARTS;

#define RESTARTS_INTACT(m) \
    :: d_step { \
        restarts > 0 && may_fail(m) && state[m] == ACTIVE -> \
        printf("master %d: restarts with all its data\n", m); \
        state[m] = INTACT; \
        restarts--; \
        failures++ \
    }

/* A server that sees no majority of others active takes it at its disk's word, whoever claimed it
 * meanwhile: as what it was, or as what it is known by. (Others may be active all the same, and
 * another server see them.) */
#define IS_TRUSTED(m) \
    :: d_step { \
        !over && is_intact(m) -> \
        printf("master %d: is trusted\n", m); \
        state[m] = ACTIVE \
    } \
    IS_TRUSTED_AS(m, 2) IS_TRUSTED_AS(m, 3)

#define IS_TRUSTED_AS(m, x) \
    :: d_step { \
        !over && is_intact(m) && is_now(m) == 1 && (of_first[member(m)] & bit(x)) -> \
        printf("master %d: is trusted as incarnation %d\n", m, x); \
        view[m] = with_incarnation(view[m], member(m), x); \
        state[m] = ACTIVE \
    }
#endif

#if REPLACEMENTS
bool replaced;

#if RESTARTS
#define is_running(m) (state[m] == ACTIVE || is_intact(m)) /* on half-way to be taken back, too */
#else
#define is_running(m) (state[m] == ACTIVE)
#endif

/* The old machine knows nothing of it, and clients and leaders reach the one or the other. */
#define IS_REPLACED(m) \
    :: d_step { \
        !replaced && may_fail(m) && is_running(m) -> \
        printf("master %d: replaced; its old machine is now %d\n", m, OLD_MACHINE); \
        counter[OLD_MACHINE] = counter[m]; \
        lock[OLD_MACHINE] = lock[m]; \
        number[OLD_MACHINE] = number[m]; \
        view[OLD_MACHINE] = view[m]; \
        state[OLD_MACHINE] = state[m]; \
        blank(m); \
        replaced = true \
    }
#endif
