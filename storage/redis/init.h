/* Making a fleet of masters, and having one go on whose majority lost its memory: what `pawld init`
 * does. Blocking, for a program that does this and exits; one thread.
 *
 *   look --> claim --all--> [wipe --> read --> hold] --> admit --a majority--> it grants
 *                            '---- token floor ----'
 *
 * Nothing is written before everything was looked at. A claimed master is "joining" under an
 * incarnation of this run: nobody grants from it, and nobody else admits it. So a run that ends
 * half-way, in whatever way, leaves masters that grant nothing, and the same command can be run
 * again. */
#ifndef STORAGE_REDIS_INIT_H
#define STORAGE_REDIS_INIT_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"
#include "storage/redis/url.h"

enum {
    STORAGE_INIT_DEADLINE_S = 2, /* for each master to connect, and for each of its answers */
    STORAGE_WHY_MAX = 768,       /* bytes of a reason */
};

/* How far above everything known a token floor is put: the tokens that were granted, and that
 * neither a guard nor a survivor has seen, are assumed to be fewer. */
#define STORAGE_FLOOR_MARGIN (INT64_C(1) << 32)

/* The highest token that a floor can be put above, so that there are tokens left to go on with. */
#define STORAGE_FLOOR_SEEN_MAX (FENCE_TOKEN_MAX - 2 * STORAGE_FLOOR_MARGIN)

struct storage_redis_init {
    const struct storage_redis_url *masters;
    unsigned n;          /* odd, at most FENCE_MASTERS_MAX */
    uint32_t ttl_max_ms; /* 0: that of the survivors, or else FENCE_TTL_MAX_DEFAULT_MS */
};

/* Makes a new fleet that never issued a token: all of its masters are reachable, none is marked,
 * none is a replica or the same server as another. Sets @ret_fleet_id. On failure a sentence that
 * says what to do is in @ret_why:
 * FENCE_ECONFLICT  a master is marked, unfit to be one, or was changed by somebody else meanwhile
 * FENCE_EIO        a master cannot be reached, or failed half-way
 * FENCE_EINVAL     the number of masters is even or too large, or the TTL is out of bounds
 * FENCE_ENOMEM */
FENCE_CHECKED int storage_redis_init_new(const struct storage_redis_init *init,
                                         char ret_fleet_id[static FENCE_ID_HEX_LEN + 1],
                                         char ret_why[static STORAGE_WHY_MAX]);

struct storage_redis_floor {
    int64_t seen; /* 0 .. STORAGE_FLOOR_SEEN_MAX: no guard has seen a higher token */

    /* The longest lease is waited for now; it takes @hold_ms. NULL: need not be told. */
    void (*holds)(void *context, uint64_t hold_ms);
    void *context;
};

/* What a fleet goes on as. */
struct storage_redis_floored {
    char fleet_id[FENCE_ID_HEX_LEN + 1]; /* the survivors', or a new one where there are none */
    uint32_t ttl_max_ms;
    int64_t floor;      /* the next token of any name is above it */
    unsigned survivors; /* masters that still had a marker of the fleet */
};

/* Has a fleet go on whose majority lost its memory, with tokens above @floor->seen and above every
 * counter that a survivor still has. Takes as long as the longest lease, since a holder may still
 * count on one. All masters are reachable; each is blank, or a survivor of one fleet at its place.
 *
 * Order (P1) holds across it as long as fewer than STORAGE_FLOOR_MARGIN tokens were granted that no
 * guard has seen; exclusion (P2) as long as no lease was longer than the maximum TTL, the
 * survivors' or the one given. Errors as of storage_redis_init_new(), and FENCE_ECONFLICT also
 * where a majority remembers (nothing was lost), where survivors are of two fleets, in each other's
 * places or of another maximum TTL than the one given, and where the floor would leave no tokens.
 */
FENCE_CHECKED int storage_redis_init_floor(const struct storage_redis_init *init,
                                           const struct storage_redis_floor *floor,
                                           struct storage_redis_floored *ret_floored,
                                           char ret_why[static STORAGE_WHY_MAX]);

#endif
