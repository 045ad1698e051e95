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
};

/* A set: bit SIM_MUTANT_X. */
extern unsigned sim_mutants;

#define SIM_MUTANT(name) (sim_mutants >> SIM_MUTANT_##name & 1)

#endif
