/* Rules that a master keeps and that can be switched off, to see whether the simulator finds out.
 * Those that the core keeps are in fence/mutant.h. */
#ifndef SIM_MUTANT_H
#define SIM_MUTANT_H

enum sim_mutant {
    SIM_MUTANT_CONFIRM_BY_ID,       /* CONFIRM looks at the attempt, not at the number */
    SIM_MUTANT_CONFIRM_EXACTLY,     /* CONFIRM wants the very number that the server was told */
    SIM_MUTANT_UNDO_BY_LOCK_ID,     /* UNDO looks at the lock id, not at the attempt */
    SIM_MUTANT_VIEW_UNCHECKED,      /* a view that is out of date is as good as any */
    SIM_MUTANT_LOCKS_KEPT,          /* WIPE removes nothing */
    SIM_MUTANT_NOTHING_RECORDED,    /* RECORD answers the counters, and that is all */
    SIM_MUTANT_NONCE_UNCHECKED,     /* ADMIT does not compare the nonce */
    SIM_MUTANT_CLAIM_UNSEEN,        /* CLAIM does not compare the marker */
    SIM_MUTANT_COUNTERS_NOT_RAISED, /* ADMIT keeps the counters that it finds */
    SIM_MUTANT_WAITS_UNNOTED,       /* TAKE does not note that somebody waits for the lock */
    SIM_MUTANT_ADOPTED_UNMARKED,    /* TAKE finds its own lock id's lock, and leaves the attempt */
    SIM_MUTANT_STORED_NUMBER_KEPT,  /* ... and answers a number from before the master came back */
    SIM_MUTANT_ALL_ADOPT,           /* ... for a lock id that a server made, too */
    SIM_MUTANT_ADOPTED_UNDONE,      /* UNDO takes what was adopted */
    SIM_MUTANT_ADOPTED_UNCONFIRMED, /* CONFIRM does not know what was adopted */
    SIM_MUTANT_ADOPTED_BY_ID,       /* CONFIRM does not look at its number */
    SIM_MUTANT_GROUP_IN_PART,       /* TAKE of several looks at the first only */
    SIM_MUTANT_GROUP_CONFIRMED_IN_PART, /* CONFIRM of several looks at the first only */
    SIM_MUTANT_GROUP_UNDONE_IN_PART,    /* UNDO of several does */
};

/* A set: bit SIM_MUTANT_X. */
extern unsigned sim_mutants;

#define SIM_MUTANT(name) (sim_mutants >> SIM_MUTANT_##name & 1)

#endif
