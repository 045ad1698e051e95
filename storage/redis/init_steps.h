/* What `pawld init` does to the masters, step by step. The scripts are those that take back a
 * master that forgot (storage/redis/rejoin.h): what a server does to one member there, a run of
 * init does to all of them. Only redis_init_*.c include this.
 *
 * Each step stops at the first master that fails, except for the last. Errors: FENCE_EIO,
 * FENCE_ENOMEM, and FENCE_ECONFLICT where somebody else changed a marker; the reason stands in the
 * session. */
#ifndef STORAGE_REDIS_INIT_STEPS_H
#define STORAGE_REDIS_INIT_STEPS_H

#include "storage/redis/init_session.h"

/* What the marker of every master says alike. */
struct storage_init_marker {
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    uint32_t ttl_max_ms;
    struct fence_view view;     /* that is known so far, */
    struct fence_view admitted; /* and that the fleet goes on under */
    bool has_past; /* tokens were granted: what is claimed for it is not for a new fleet */
};

/* A new fleet id; and incarnations above those in @before, which leaves room for them. */
void storage_init_draw_fleet_id(char ret_fleet_id[static FENCE_ID_HEX_LEN + 1]);
void storage_init_draw_view(const struct fence_view *before, unsigned n,
                            struct fence_view *ret_view);

/* Marks all masters as joining, under the incarnations of this run, each only if its marker is
 * still the one that was seen. From here on none of them grants, and nobody else admits one. */
FENCE_CHECKED int storage_init_claim(struct storage_init_session *session,
                                     const struct storage_init_marker *marker);

/* Removes all locks. */
FENCE_CHECKED int storage_init_wipe(struct storage_init_session *session);

/* The highest number that any counter, or any floor, stands at. */
FENCE_CHECKED int storage_init_read(struct storage_init_session *session, int64_t *ret_highest);

/* Lets @hold_ms go by, and looks all the while whether every master is there and still claimed:
 * what failed is better known at once than after the longest lease. */
FENCE_CHECKED int storage_init_hold(struct storage_init_session *session, uint64_t hold_ms);

/* Makes all masters active under @marker->admitted, with the floor @floor (0: none). Goes on past a
 * master that fails; @ret_admitted is set on failure too. */
FENCE_CHECKED int storage_init_admit(struct storage_init_session *session,
                                     const struct storage_init_marker *marker, int64_t floor,
                                     unsigned *ret_admitted);

#endif
