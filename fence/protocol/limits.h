/* The bounds of the protocol, each with its name. Every size that a client or a master
 * chooses is compared with one of these bounds before it is stored. */
#ifndef FENCE_PROTOCOL_LIMITS_H
#define FENCE_PROTOCOL_LIMITS_H

#include "fence/base/time.h"

#include <stdint.h>

enum {
    FENCE_MASTERS_MAX = 9,    /* a fleet is 1, 3, 5, 7 or 9 masters */
    FENCE_RESOURCE_MAX = 255, /* bytes of a resource name */
    FENCE_LOCK_ID_MIN = 22,   /* base64url characters a client must bring: 128 bits */
    FENCE_LOCK_ID_MAX = 64,
    FENCE_LOCK_ID_LEN = 27, /* ids that the server makes: 20 random bytes */
    FENCE_LABEL_MAX = 128,  /* bytes of UTF-8 in the label shown to others */
    FENCE_KEY_ID_MIN = 4,   /* characters of the id of a key that a client shows */
    FENCE_KEY_ID_MAX = 16,
    FENCE_DELAY_DIGITS = 8, /* the delay of a lock in milliseconds, up to FENCE_TTL_CEILING_MS */
    FENCE_OWNER_MAX =       /* fence/protocol/owner.h */
        1 + FENCE_LABEL_MAX + 1 + FENCE_DELAY_DIGITS + 1 + FENCE_KEY_ID_MAX,
    FENCE_ID_HEX_LEN = 40,      /* the id of a server's process, or of a fleet */
    FENCE_LINEAGE_MAX = 63,     /* bytes of a lineage */
    FENCE_HOST_MAX = 45,        /* bytes of an IP address as text */
    FENCE_SERVER_MAX = 31,      /* bytes of what a server calls itself, and of its version */
    FENCE_FIELD_MAX = 15,       /* bytes of the name of a field of a marker, ... */
    FENCE_FIELD_BYTES_MAX = 48, /* ... and of its value that are compared */
    FENCE_SLOTS = 16384,        /* token counters that a master keeps, for any number of names */
    FENCE_GROUP_MIN = 2,        /* resources acquired together, all or none */
    FENCE_GROUP_MAX = 64,
    FENCE_SEATS_MAX = 64,  /* seats of a name, and so permits of a semaphore */
    FENCE_SEAT_DIGITS = 2, /* the index of a seat */
    FENCE_READERS_MAX =
        63, /* seats of a lock of readers and writers, with its gate in a group, ... */
    FENCE_READERS_DEFAULT = 32, /* ... and of a fleet whose marker names no number */
    FENCE_SEATS_NAME_MAX = 251, /* bytes of a name that has seats: with its '#', a kind and its
                                 * index it is the name of a lock */

    FENCE_COUNT_MAX = 1000000,         /* values of a named counter that one call takes */
    FENCE_COUNT_CALLS_MAX = 256,       /* calls that one round counts for */
    FENCE_COUNT_TRIES_MAX = 16,        /* rounds of a call, while masters differ */
    FENCE_COUNTERS_DEFAULT = 100000,   /* named counters that a fleet keeps, ... */
    FENCE_COUNTERS_CEILING = 10000000, /* ... and that an operator may allow at the most */

    FENCE_TTL_MIN_MS = 100,
    FENCE_TTL_DEFAULT_MS = 30 * 1000,
    FENCE_TTL_MAX_DEFAULT_MS = 300 * 1000,
    FENCE_TTL_CEILING_MS = 24 * 3600 * 1000, /* the highest maximum that an operator may set */
    FENCE_WAIT_MAX_MS = 300 * 1000,
    FENCE_EXTENSIONS_MAX = 1000,        /* one grant, in a fleet whose marker names no cap */
    FENCE_EXTENSIONS_DEFAULT = 1000000, /* the cap of a new fleet: 30 s leases for 115 days, ... */
    FENCE_EXTENSIONS_CEILING = 1000000000, /* ... and what an operator may set it to */

    FENCE_MASTER_DEADLINE_US = 50 * 1000,    /* silence after which a master counts as gone ... */
    FENCE_MASTER_DEADLINE_MIN_US = 5 * 1000, /* ... and what an operator may set it to: */
    FENCE_MASTER_DEADLINE_MAX_US = 5000 * 1000, /* regions may lie far apart */
    FENCE_HEDGE_LEAST_US = 2000,   /* before another master is asked as well, at the least ... */
    FENCE_HEDGE_MOST_PERCENT = 40, /* ... and at the most, of the deadline */
    FENCE_HEDGE_ROUND_PART = 3,    /* and no later than after this part of a round */
    FENCE_SLOW_MISSES = 3,         /* in a row, after which a master is not asked first */
    FENCE_SLOW_TRIAL_US =
        100 * 1000, /* between two tries of a slow master, or one never measured, */
    FENCE_SPARE_TRIAL_US = 1000 * 1000, /* and of another one that no call asks */
    FENCE_LAG_DEADLINES = 4,            /* so many deadlines of masters, at most, a lag puts off */
    FENCE_IN_FLIGHT_MAX = 16384,        /* requests one master may owe before it counts as gone */
    FENCE_OWED_MAX = 512,         /* locks that a majority owes answers for, beyond which calls wait
                                   * (fence/state/admission.h): of two script calls */
    FENCE_OWED_GROUPS_PART = 8,   /* one in so many of these is for groups, ... */
    FENCE_OWED_HOLDERS_TIMES = 2, /* ... and holders wait beyond so many times as much */
    FENCE_ADMISSION_US = 1000 * 1000, /* how long a call waits for that, if it does not say */
    FENCE_TRIES_MAX = 4,              /* attempts of a call that does not wait */
    FENCE_STALE_TRIES_MAX = 16,       /* and where no rival, but a newer view was in the way */
    FENCE_GROUP_DOUBLINGS_MAX = 8,    /* doublings of the random delay of an acquire of several */
    FENCE_RETRY_BASE_US = 2 * 1000,   /* the first random delay is below twice this */
    FENCE_FIRST_LOOK_US = 5 * 1000,   /* a new first in a queue asks the masters after this ... */
    FENCE_LOOK_US = 500 * 1000,       /* ... and again after this, in case it was not told, ... */
    FENCE_LOOK_SPREADS = 4,           /* ... and up to so many times as much more, at random */
    FENCE_LOOK_LEAST_US = 1000,       /* and no sooner than this, ... */
    FENCE_LOOK_DOUBLINGS_MAX = 5, /* ... which doubles with each look that finds the same holder */
    FENCE_WATCH_US = 500 * 1000,  /* between two looks at a lock that calls watch, ... */
    FENCE_WATCH_UNSETTLED_US = 50 * 1000, /* ... and where masters differ on its token */
    FENCE_PLACE_KEPT_US = 2000 * 1000,    /* a waiter that left may come back to its place */
    FENCE_NEXT_MS = 50, /* a master keeps a lock that was released for the waiter that came first */
    FENCE_CLAIMS_US = 3000 * 1000, /* after the first waiter of a process: others are believed how
                                    * long they have waited */
    FENCE_WAITED_MAX_MS = 24 * 3600 * 1000, /* that is told of waits before */
    FENCE_RETRIES_LOOKED_AT = 64, /* places at the end of a wait queue: retries of the holder */
    FENCE_REJOIN_DELAY_US = 20 * 1000, /* a random time below it before a server leads a rejoin */
    FENCE_REJOIN_TIMEOUT_US = 1000 * 1000, /* for each answer to a step of a rejoin */
    FENCE_REJOIN_BEATEN_US = 1000 * 1000,  /* the same delay, after another leader was further */
    FENCE_REJOIN_MERGING_MAX = 2,          /* pages of one master on their way into the member */
    FENCE_REJOIN_PAGE_TRIES_MAX = 10, /* attempts to read one page, over connections that end */
    FENCE_REJOIN_STUCK_MAX = 3,   /* times that locks cannot be read, before they are waited out */
    FENCE_UNBACKED_TRIES_MAX = 2, /* failed attempts because one master refused their view */
    FENCE_CLAIM_LEAP_MAX = 64, /* admissions that one master alone may know more of, and be true */
    FENCE_REJOIN_ALIVE_US =
        1000 * 1000, /* between two signs of life of a leader in the quarantine */
    FENCE_REJOIN_SLACK_US = 3000 * 1000, /* without progress, after which a leader counts as dead */
    FENCE_TRUST_GRACE_US = 2000 * 1000,  /* others that were lost are waited for, before a disk is
                                          * trusted for want of them */
    FENCE_ANSWER_US = 500 * 1000,        /* after it was asked, an answer that is read later counts
                                          * for nothing: its master may have restarted since, from an
                                          * older disk */
    FENCE_TELLING_US = 1100 * 1000,      /* after that, two probes and a moment: by then each server
                                          * has told which positions it saw */
    FENCE_RESTAMP_WRITES = 1 << 20,      /* that a position rises by as a disk is believed. A later
                                          * copy of the disk of before is behind that */
    FENCE_REJOIN_ROUNDS_MAX = 8, /* rounds of asking and recording, before the rejoin restarts */
    FENCE_CLEANUPS_MAX = 4096,   /* clean-ups not yet acknowledged */
    FENCE_CLEANUP_SLACK_US = 10 * 1000 * 1000, /* kept beyond the TTL: a late request locks late */
    FENCE_GROUPS_MAX = 256,                    /* acquires of several resources under way */
    FENCE_GROUPS_KEPT_PART = 4,                /* one in so many is for calls that do not wait */
    FENCE_SEAT_QUEUES_MAX = 1024,              /* names whose seats calls want at a time */
    FENCE_SEATS_SHOWN_MAX = 16,                /* inspections of the seats of a name under way */
    FENCE_SCAN_KEYS_MAX = 256,                 /* that a step of a scan looks at, or few more */
    FENCE_GATE_PARTS = 4,    /* a writer that waits extends its gate so often in a TTL */
    FENCE_CALLS_MAX = 65536, /* a call's index is 16 bits of its tag */
};

/* Tokens fit a double, so that scripts on a master, and JavaScript, carry them unharmed. */
#define FENCE_TOKEN_MAX ((INT64_C(1) << 53) - 1)

/* How far above its own counter a master believes a hint. A larger one is ignored. */
#define FENCE_HINT_LEAP (INT64_C(1) << 20)

/* The longest that a lock is believed to have left, some 30 years. In microseconds it fits 64 bits,
 * also where somebody gave the key a longer expiry by hand. */
#define FENCE_REMAINING_MAX_MS UINT64_C(1000000000000)

/* No call, no place in a queue. */
#define FENCE_NOBODY UINT32_MAX

#endif
