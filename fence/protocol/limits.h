/* The bounds of the protocol, each with its name. Every size that a client or a master
 * chooses is compared with one of these bounds before it is stored. */
#ifndef FENCE_PROTOCOL_LIMITS_H
#define FENCE_PROTOCOL_LIMITS_H

#include "fence/base/time.h"

#include <stdint.h>

enum {
    FENCE_MASTERS_MAX = 9,    /* a fleet is 1, 3, 5, 7 or 9 masters */
    FENCE_RESOURCE_MAX = 255, /* bytes of a resource name */
    FENCE_LOCK_ID_MIN = 22,   /* base64url characters of a client's own lock id: 128 bits */
    FENCE_LOCK_ID_MAX = 64,
    FENCE_LOCK_ID_LEN = 27, /* ids that the server makes: 20 random bytes */
    FENCE_LABEL_MAX = 128,  /* bytes of UTF-8 in the label that other clients see */
    FENCE_KEY_ID_MIN = 4,   /* characters of the id of a key that a client shows */
    FENCE_KEY_ID_MAX = 16,
    FENCE_DELAY_DIGITS = 8, /* the delay of a lock in milliseconds, up to FENCE_TTL_CEILING_MS */
    FENCE_OWNER_MAX =       /* fence/protocol/owner.h */
        1 + FENCE_LABEL_MAX + 1 + FENCE_DELAY_DIGITS + 1 + FENCE_KEY_ID_MAX,
    FENCE_ID_HEX_LEN = 40,      /* the id of a server's process, or of a fleet */
    FENCE_LINEAGE_MAX = 63,     /* bytes of a lineage */
    FENCE_HOST_MAX = 45,        /* bytes of an IP address as text */
    FENCE_SERVER_MAX = 31,      /* bytes of the name of a server, and of its version */
    FENCE_FIELD_MAX = 15,       /* bytes of the name of a field of a marker */
    FENCE_FIELD_BYTES_MAX = 48, /* bytes of the value of a field of a marker that Pawl compares */
    FENCE_SLOTS = 16384,        /* token counters that a master keeps, for any number of names */
    FENCE_GROUP_MIN = 2,        /* resources acquired together, all or none */
    FENCE_GROUP_MAX = 64,
    FENCE_SEATS_MAX = 64,  /* seats of a name, and so permits of a semaphore */
    FENCE_SEAT_DIGITS = 2, /* the index of a seat */
    FENCE_READERS_MAX =
        63, /* seats of a lock of readers and writers: a group holds them and the gate */
    FENCE_READERS_DEFAULT = 32, /* the same, in a fleet whose marker names no number */
    FENCE_SEATS_NAME_MAX = 251, /* bytes of a name that has seats: the name, '#', a kind and an
                                 * index make the name of a lock */

    FENCE_COUNT_MAX = 1000000,         /* values of a named counter that one call takes */
    FENCE_COUNT_CALLS_MAX = 256,       /* calls whose values one round takes */
    FENCE_COUNT_TRIES_MAX = 16,        /* rounds of a call, while masters differ */
    FENCE_COUNTERS_DEFAULT = 100000,   /* named counters that a fleet keeps by default */
    FENCE_COUNTERS_CEILING = 10000000, /* named counters that an operator may allow */

    FENCE_TTL_MIN_MS = 100,
    FENCE_TTL_DEFAULT_MS = 30 * 1000,
    FENCE_TTL_MAX_DEFAULT_MS = 300 * 1000,
    FENCE_TTL_CEILING_MS = 24 * 3600 * 1000, /* the highest maximum that an operator may set */
    FENCE_WAIT_MAX_MS = 300 * 1000,
    FENCE_EXTENSIONS_MAX = 1000,           /* extensions of one grant, in a fleet whose marker names
                                            * no cap */
    FENCE_EXTENSIONS_DEFAULT = 1000000,    /* the cap of a new fleet: 30 s leases for 115 days */
    FENCE_EXTENSIONS_CEILING = 1000000000, /* the highest cap that an operator may set */

    FENCE_MASTER_DEADLINE_US = 50 * 1000,    /* silence after which a master counts as down */
    FENCE_MASTER_DEADLINE_MIN_US = 5 * 1000, /* the lowest such deadline that an operator may set */
    FENCE_MASTER_DEADLINE_MAX_US = 5000 * 1000, /* the highest: regions may lie far apart */
    FENCE_HEDGE_LEAST_US = 2000,   /* the shortest time before a call asks another master, too */
    FENCE_HEDGE_MOST_PERCENT = 40, /* the longest such time, in percent of the deadline */
    FENCE_HEDGE_ROUND_PART = 3,    /* the call asks another master at the latest after this part
                                    * of a round */
    FENCE_SLOW_MISSES = 3,         /* misses in a row, after which calls do not ask a master
                                    * first */
    FENCE_SLOW_TRIAL_US =
        100 * 1000, /* between two trials of a master that is slow or was never measured */
    FENCE_SPARE_TRIAL_US = 1000 * 1000, /* between two trials of any other master that no call
                                         * asks */
    FENCE_LAG_DEADLINES = 4,            /* a lag of this process postpones the deadline of a
                                         * master by up to so many deadlines */
    FENCE_IN_FLIGHT_MAX = 16384,        /* requests that one master may owe before it counts as
                                         * down */
    FENCE_OWED_MAX = 512,         /* locks that a majority owes answers for, beyond which calls wait
                                   * (fence/state/admission.h): of two script calls */
    FENCE_OWED_GROUPS_PART = 8,   /* one in so many of these locks is for groups */
    FENCE_OWED_HOLDERS_TIMES = 2, /* holders wait only beyond so many times FENCE_OWED_MAX */
    FENCE_ADMISSION_US = 1000 * 1000, /* how long a call waits for admission, unless the call
                                       * names a time */
    FENCE_TRIES_MAX = 4,              /* attempts of a call that does not wait */
    FENCE_STALE_TRIES_MAX = 16,       /* the same, if a newer view was in the way and no rival */
    FENCE_GROUP_DOUBLINGS_MAX = 8,    /* doublings of the random delay of an acquire of several
                                       * resources */
    FENCE_RETRY_BASE_US = 2 * 1000,   /* the first random delay is below twice this time */
    FENCE_FIRST_LOOK_US = 5 * 1000,   /* the new first call of a queue asks the masters after
                                       * this time */
    FENCE_LOOK_US = 500 * 1000,       /* a first call that got no event asks the masters again
                                       * after this time */
    FENCE_LOOK_SPREADS = 4,           /* a random time is added: up to so many times the time
                                       * before */
    FENCE_LOOK_LEAST_US = 1000,       /* the shortest time before the next look */
    FENCE_LOOK_DOUBLINGS_MAX = 5,     /* doublings of that shortest time: one for each look that
                                       * finds the same holder */
    FENCE_WATCH_US = 500 * 1000,      /* between two looks at a lock that calls watch */
    FENCE_WATCH_UNSETTLED_US = 50 * 1000, /* the same, if masters differ on the token of the lock */
    FENCE_PLACE_KEPT_US = 2000 * 1000,    /* a waiter that left may return to its place for so
                                           * long */
    FENCE_NEXT_MS = 50, /* a master keeps a released lock for the first waiter for so long */
    FENCE_CLAIMS_US = 3000 * 1000, /* for so long after the first waiter of a process, callers
                                    * may report how long they have waited */
    FENCE_WAITED_MAX_MS = 24 * 3600 * 1000, /* the longest earlier wait that a caller may report */
    FENCE_RETRIES_LOOKED_AT = 64,      /* places, from the end of a wait queue, that a search for
                                        * retries of the holder looks at */
    FENCE_REJOIN_DELAY_US = 20 * 1000, /* a random delay below this, before a server leads a
                                        * rejoin */
    FENCE_REJOIN_TIMEOUT_US = 1000 * 1000, /* for each answer to a step of a rejoin */
    FENCE_REJOIN_BEATEN_US = 1000 * 1000,  /* the same delay, after another leader was further
                                            * ahead */
    FENCE_REJOIN_MERGING_MAX = 2,          /* pages of one master that the member is merging at a
                                            * time */
    FENCE_REJOIN_PAGE_TRIES_MAX = 10,      /* attempts to read one page, if connections end */
    FENCE_REJOIN_STUCK_MAX = 3,   /* failures to read locks, before the member waits until these
                                   * locks have expired */
    FENCE_UNBACKED_TRIES_MAX = 2, /* attempts that may fail because one master refused their view */
    FENCE_CLAIM_LEAP_MAX = 64,    /* admissions that one master alone may be ahead by, and still be
                                   * believed */
    FENCE_REJOIN_ALIVE_US =
        1000 * 1000, /* between two signs of life that a leader sends in the quarantine */
    FENCE_REJOIN_SLACK_US = 3000 * 1000, /* time without progress, after which a leader counts as
                                          * dead */
    FENCE_TRUST_GRACE_US = 2000 * 1000,  /* how long a server waits for other lost masters before
                                          * it trusts a disk without them */
    FENCE_ANSWER_US = 500 * 1000,        /* the age of a question at which its answer no longer
                                          * counts: the master may have restarted since, from an
                                          * older disk */
    FENCE_TELLING_US = 1100 * 1000,      /* after that time, two probes and a margin: by then
                                          * each server has reported the positions that it saw */
    FENCE_RESTAMP_WRITES = 1 << 20,      /* the position rises by this when a disk is believed. A
                                          * later copy of the earlier disk is then behind */
    FENCE_REJOIN_ROUNDS_MAX = 8, /* rounds of asking and recording, before the rejoin restarts */
    FENCE_CLEANUPS_MAX = 4096,   /* clean-ups not yet acknowledged */
    FENCE_CLEANUP_SLACK_US = 10 * 1000 * 1000, /* a clean-up is kept so long beyond the TTL: a
                                                * late request locks late */
    FENCE_GROUPS_MAX = 256,                    /* acquires of several resources under way */
    FENCE_GROUPS_KEPT_PART = 4,                /* one in so many is for calls that do not wait */
    FENCE_SEAT_QUEUES_MAX = 1024,              /* names whose seats calls want at a time */
    FENCE_SEATS_SHOWN_MAX = 16,                /* inspections of the seats of a name under way */
    FENCE_SCAN_KEYS_MAX = 256,                 /* keys that one step of a scan looks at; a step
                                                * may look at a few more */
    FENCE_GATE_PARTS = 4,    /* a waiting writer extends its gate so often in each TTL */
    FENCE_CALLS_MAX = 65536, /* a call's index is 16 bits of its tag */
};

/* Tokens fit a double, so that scripts on a master, and JavaScript, carry them unharmed. */
#define FENCE_TOKEN_MAX ((INT64_C(1) << 53) - 1)

/* How far a hint may be above the counter of a master. The master ignores a larger hint. */
#define FENCE_HINT_LEAP (INT64_C(1) << 20)

/* The longest remaining time of a lock that Pawl believes, some 30 years. In microseconds it fits
 * 64 bits, even if somebody gave the key a longer expiry by hand. */
#define FENCE_REMAINING_MAX_MS UINT64_C(1000000000000)

/* No call, no place in a queue. */
#define FENCE_NOBODY UINT32_MAX

#endif
