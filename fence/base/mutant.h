/* Mutants: rules of the protocol that can be switched off, one by one. The simulator must find out
 * what each is for (tests/sim/mutants.c). They exist only in a library built with PAWL_MUTANTS.
 * Elsewhere each FENCE_MUTANT() is a plain 0, and the compiler drops the code behind it. */
#ifndef FENCE_BASE_MUTANT_H
#define FENCE_BASE_MUTANT_H

#include <stdint.h>

enum fence_mutant {
    FENCE_MUTANT_MAJORITY_OF_ASKED,  /* an attempt wins by a majority of those that were up */
    FENCE_MUTANT_LATE_NUMBERS_JOIN,  /* a number that comes after the token is fixed counts too */
    FENCE_MUTANT_ONE_READ_FEWER,     /* a rejoin reads one master fewer than a majority */
    FENCE_MUTANT_READ_ITSELF,        /* the master that forgot is one of the majority read */
    FENCE_MUTANT_READ_BEFORE_RECORD, /* a rejoin reads the others, then has them record */
    FENCE_MUTANT_RECORDED_UNDER_TWO_VIEWS, /* masters of a rejoin record under different views */
    FENCE_MUTANT_INCARNATION_REUSED,       /* a try that follows another has its incarnation */
    FENCE_MUTANT_MEMORY_UNNAMED,           /* a try of a kept memory may hide a replacement */
    FENCE_MUTANT_NO_WAIT,            /* a master whose locks cannot be imported votes at once */
    FENCE_MUTANT_ALL_INTACT,         /* a master that comes back alone is believed intact */
    FENCE_MUTANT_CHANGE_IGNORED,     /* a master that restarted, or was a replica, votes on */
    FENCE_MUTANT_UNDURABLE_VOTES,    /* a durable master votes on while it is not */
    FENCE_MUTANT_EVERYBODY_ASKS,     /* a new call asks at once, also behind others in its queue */
    FENCE_MUTANT_ASKS_OUT_OF_LINE,   /* who was to be told "held" asks if it is no more so */
    FENCE_MUTANT_LAST_SERVED_FIRST,  /* the last of a queue is its next first */
    FENCE_MUTANT_PLACE_FORGOTTEN,    /* who comes back stands at the end */
    FENCE_MUTANT_NEXT_NOT_WOKEN,     /* who has become the first is not told */
    FENCE_MUTANT_WORD_IGNORED,       /* word that a lock was given up wakes nobody */
    FENCE_MUTANT_EARLY_WORD_IGNORED, /* nor does it count if it came during an attempt */
    FENCE_MUTANT_LEASE_END_IGNORED,  /* a waiter does not look at the end of the lease */
    FENCE_MUTANT_NO_LOOKS,           /* nor now and then */
    FENCE_MUTANT_OWN_LEASE_ONLY,     /* a grant counts on all of its lease, also where older locks
                                      * were found */
    FENCE_MUTANT_HOLDER_WAITS,      /* a retry of the holder waits behind others for its own lock */
    FENCE_MUTANT_READ_ON_ELSEWHERE, /* a source is read on at its cursor by another process, too */
    FENCE_MUTANT_ONE_BELIEVED,      /* what one master alone says of another is believed */
    FENCE_MUTANT_BOOTSTRAP_NO_WAIT, /* a token floor does not wait for the longest lease */
    FENCE_MUTANT_BOOTSTRAP_VIEW_LOW,      /* it raises incarnations no higher than survivors know */
    FENCE_MUTANT_FLOOR_WITHOUT_MARGIN,    /* the floor is what was seen */
    FENCE_MUTANT_FLOOR_WITHOUT_SURVIVORS, /* ... by the operator alone */
    FENCE_MUTANT_NEW_OVER_MARKED,         /* a new fleet is made of masters of an older one */
    FENCE_MUTANT_HEDGE_UNDER_NEW_VIEW,    /* masters asked later are named the newest view */
    FENCE_MUTANT_VALID_FROM_HEDGE,        /* a validity counts from when the last were asked */
    FENCE_MUTANT_LOST_WITHOUT_PAST,       /* a lock is lost where a minority may still have it */
    FENCE_MUTANT_COUNT_MAJORITY_OF_ASKED, /* values are had by a majority of those asked */
    FENCE_MUTANT_COUNT_HIGHEST_WINS,      /* ... or by the highest number that a majority answers */
    FENCE_MUTANT_COUNT_PARTS_SHARED,      /* calls of one round get the same values */
    FENCE_MUTANT_LISTING_WALKS_TOO_FEW,   /* a listing walks one master fewer than it must */
    FENCE_MUTANT_LISTING_SKIPS_UNASKED,   /* a name counts as listed where nobody can be asked */
    FENCE_MUTANT_LISTING_KNOWS_BY_NAME,   /* ... and where the one asked names another holder */
    FENCE_MUTANT_LISTING_PROCESS_UNCHECKED, /* a scan goes on at its cursor in another process */
    FENCE_MUTANT_LISTING_SPLIT_LOSES,      /* what a page has no room for is forgotten: of a step */
    FENCE_MUTANT_LISTING_ENDS_BEHIND_STEP, /* ... that it ends within, and that it ends before */
    FENCE_MUTANT_LISTING_PART_UNCHECKED,   /* a split step passes over names of another part */
    FENCE_MUTANT_LISTING_HELD_UNCHECKED,   /* what was found is listed, whoever holds it */
    FENCE_MUTANT_LISTING_UNTIMED,          /* masters are waited for without an end */
    FENCE_MUTANT_BREAK_MAJORITY_OF_HEARD,  /* a grant is broken by a majority of the answers */
    FENCE_MUTANT_BROKEN_REACQUIRED,        /* an extension of a broken grant acquires it again */
    FENCE_MUTANT_REACQUIRED_BY_FEW,        /* ... and so does one that few masters answered */
    FENCE_MUTANT_DISK_TRUSTED_BLINDLY,     /* a disk is believed though it is behind a position */
    FENCE_MUTANT_TOLD_IGNORED,             /* ... that others told */
    FENCE_MUTANT_LATE_ANSWER_COUNTS,       /* an answer counts however late it is read */
    FENCE_MUTANT_REPLY_OF_ANY_POSITION,    /* a reply counts though its master lost writes */
    FENCE_MUTANT_TELLING_NOT_AWAITED,      /* a disk is believed before others could tell */
};

#ifdef PAWL_MUTANTS
extern uint64_t fence_mutants; /* a set: bit FENCE_MUTANT_X */
#define FENCE_MUTANT_ANY   (fence_mutants != 0)
#define FENCE_MUTANT(name) (fence_mutants >> FENCE_MUTANT_##name & 1)
#else
#define FENCE_MUTANT(name) 0
#define FENCE_MUTANT_ANY   0
#endif

#endif
