/* Rules that a master keeps and that can be switched off, to see whether the simulator finds out.
 * Those that the core keeps are in fence/base/mutant.h. */
#ifndef TESTS_SIM_MASTERS_MUTANT_H
#define TESTS_SIM_MASTERS_MUTANT_H

#include <stdint.h>

enum sim_mutant {
    SIM_MUTANT_CONFIRM_BY_ID,           /* CONFIRM looks at the attempt, not at the number */
    SIM_MUTANT_CONFIRM_EXACTLY,         /* CONFIRM wants the very number that the server was told */
    SIM_MUTANT_UNDO_BY_LOCK_ID,         /* UNDO looks at the lock id, not at the attempt */
    SIM_MUTANT_VIEW_UNCHECKED,          /* a view that is out of date is as good as any */
    SIM_MUTANT_EXTEND_VIEW_UNCHECKED,   /* for EXTEND and JOIN it is */
    SIM_MUTANT_LOCKS_KEPT,              /* CLEAR removes nothing */
    SIM_MUTANT_NOTHING_RECORDED,        /* RECORD says that it was done, and that is all */
    SIM_MUTANT_PAGES_UNCHECKED,         /* READ does not compare incarnations */
    SIM_MUTANT_MARK_UNSEEN,             /* MARK does not compare the marker */
    SIM_MUTANT_INSTALL_NONCE_UNCHECKED, /* INSTALL does not compare the incarnation */
    SIM_MUTANT_ADMIT_NONCE_UNCHECKED,   /* ADMIT does not */
    SIM_MUTANT_CLEAR_UNCOUNTED,         /* CLEAR does not count the steps that were done */
    SIM_MUTANT_PROGRESS_UNCHECKED,      /* ADMIT does not count the steps that were done */
    SIM_MUTANT_LINEAGE_UNCHECKED_TAKE,  /* requests about locks do not compare the lineage */
    SIM_MUTANT_LINEAGE_UNCHECKED_READ,  /* RECORD and READ do not */
    SIM_MUTANT_LINEAGE_UNCHECKED_MARK,  /* MARK does not, where it says that all was kept */
    SIM_MUTANT_LINEAGE_UNCHECKED_INSTALL, /* INSTALL and ADMIT do not */
    SIM_MUTANT_UNDURABLE_COUNTS,          /* nobody looks at settings behind a request */
    SIM_MUTANT_COUNTERS_NOT_IMPORTED,     /* INSTALL merges no counters */
    SIM_MUTANT_LOCKS_NOT_IMPORTED,        /* nor locks */
    SIM_MUTANT_SEEN_BY_MAJORITY,          /* only locks that a majority had are kept by ADMIT */
    SIM_MUTANT_MIXED_BY_NUMBER,           /* of locks of two ids the higher number stays */
    SIM_MUTANT_MIXED_BY_FIRST,            /* of locks of two ids the first stays */
    SIM_MUTANT_TOMBSTONE_DELETABLE,       /* RELEASE and UNDO take tombstones */
    SIM_MUTANT_TOMBSTONE_NOT_COPIED,      /* INSTALL passes over tombstones */
    SIM_MUTANT_LEASE_NOT_MAX,             /* of two leases the first stays */
    SIM_MUTANT_MERGE_KEEPS_ATTEMPT,       /* of two attempts the first stays */
    SIM_MUTANT_EXTEND_ANY_IMPORTED,       /* EXTEND counts a lock that few masters had */
    SIM_MUTANT_EXTENDED_UNMARKED,         /* EXTEND leaves the lock to its attempt */
    SIM_MUTANT_JOIN_PAST,                 /* JOIN locks where the counter is above the token */
    SIM_MUTANT_OWN_ID_PAST,               /* PAST is what the own id under a higher number says */
    SIM_MUTANT_TOMBSTONE_PAST,            /* ... and what a tombstone says */
    SIM_MUTANT_WAITS_UNNOTED,             /* TAKE does not note that somebody waits for the lock */
    SIM_MUTANT_ADOPTED_UNMARKED,    /* TAKE finds its own lock id's lock, and leaves the attempt */
    SIM_MUTANT_STORED_NUMBER_KEPT,  /* ... and answers the number that was imported */
    SIM_MUTANT_ALL_ADOPT,           /* ... for a lock id that a server made, too */
    SIM_MUTANT_ADOPTED_UNDONE,      /* UNDO takes what was adopted */
    SIM_MUTANT_ADOPTED_UNCONFIRMED, /* CONFIRM does not know what was adopted */
    SIM_MUTANT_ADOPTED_BY_ID,       /* CONFIRM does not look at its number */
    SIM_MUTANT_GROUP_IN_PART,       /* TAKE of several looks at the first only */
    SIM_MUTANT_GROUP_CONFIRMED_IN_PART, /* CONFIRM of several looks at the first only */
    SIM_MUTANT_GROUP_UNDONE_IN_PART,    /* UNDO of several does */
    SIM_MUTANT_NAMED_NOT_IMPORTED,      /* INSTALL merges no named counters */
    SIM_MUTANT_NAMED_BELOW_FLOOR,       /* COUNT does not look at the floor */
    SIM_MUTANT_BREAK_UNCOUNTED,         /* BREAK leaves the counter */
    SIM_MUTANT_BREAK_UNNOTED,           /* EXTEND and JOIN do not look at the notes of BREAK */
    SIM_MUTANT_BREAK_BY_NAME,           /* BREAK deletes whatever stands there */
    SIM_MUTANT_BREAK_BY_ID,             /* BREAK looks at the lock id, not at the number */
    SIM_MUTANT_BREAK_BY_NUMBER,         /* BREAK looks at the number, not at the lock id */
    SIM_MUTANT_BREAK_OTHERS_UNSEEN,  /* BREAK says YES, also where another id has such a number */
    SIM_MUTANT_BREAK_VIEW_UNCHECKED, /* BREAK does not compare views */
    SIM_MUTANT_POSITION_UNCHECKED,   /* RESTAMP does not compare positions */
    SIM_MUTANT_RESTAMP_UNCOUNTED,    /* ... and leaves the position as it is */
};

/* A set: bit SIM_MUTANT_X. */
extern uint64_t sim_mutants;

#define SIM_MUTANT(name) (sim_mutants >> SIM_MUTANT_##name & 1)

#endif
