/* Listings of held locks, page by page (api/v1/listing.h). No index is kept. The names are read
 * from the masters step by step, and each is then inspected as for any client. So a lock is listed
 * exactly if a majority names one holder for it.
 *
 *   SCANNING --names--> SIFTING --new ones--> INSPECTING --.
 *      ^                                                   | next step, until the page is full
 *      '---------------------------------------------------'
 *
 *   SCANNING    A lock that q of N masters hold stands on at least one of any N - q + 1, so that
 *               many are walked, one after the other, in as many pages as it takes.
 *   SIFTING     A lock that stands on two of these is listed with the first: a name is passed over
 *               where a master walked before names the same holder for it as the one being walked.
 *               Where those cannot be asked it is not passed over.
 *   INSPECTING  The core's FENCE_CALL_INSPECT; its answers say whether a lock is held.
 *
 * So a lock that is held, by the same holder on the same masters, from the first page to the last
 * is listed: once, but perhaps again if a master goes down or resizes its table in between. One
 * taken or released meanwhile may be listed or not.
 *
 * A page ends between two steps, and a step that has more names than there is room is asked for
 * again with fewer keys: what is left over is not missed whatever changes meanwhile. Only where the
 * smallest step has more names than a whole page has room, a page ends within it: the next page
 * passes over its names up to the last one, unless the step now covers another part of the table
 * (its SCAN cursor tells), when they are listed again.
 *
 * A page is bounded by its limit and by SERVER_LISTING_STEPS, so it may be short, even empty,
 * though more follow. All functions belong to the loop's thread. */
#ifndef SERVER_LOOP_LISTING_H
#define SERVER_LOOP_LISTING_H

#include "api/v1/listing.h"
#include "server/loop/driver.h"

enum {
    SERVER_LISTINGS = 4,              /* pages a worker makes at a time; one more is turned away */
    SERVER_LISTING_STEPS = 16,        /* of SCAN, for a page */
    SERVER_LISTING_CALLS = 64,        /* of inspection, that a page makes at a time */
    SERVER_LISTING_PATIENCE_MS = 250, /* for one answer of a master that is at work */
};

struct server_listings_config {
    uv_loop_t *loop;
    struct server_driver *driver; /* borrowed */

    /* A page is ready, or has failed. @listing lives for this call. */
    void (*answer)(void *context, const struct fence_listing_answer *listing);
    void *context;
};

struct server_listings;

/* FENCE_ENOMEM. */
FENCE_CHECKED int server_listings_new(const struct server_listings_config *config,
                                      struct server_listings **ret_listings);

/* Pages under way get no answer. The memory goes when the loop has run the last callbacks; call it
 * right before server_driver_free(), with no turn of the loop in between. NULL is fine. */
void server_listings_free(struct server_listings *listings);

/* Takes a call for a page; config.answer follows exactly once, perhaps before this returns. */
void server_listings_call(struct server_listings *listings, const struct fence_listing_call *call);

/* To be told of each answer of the driver to FENCE_ORIGIN_LISTING. */
void server_listings_answer(struct server_listings *listings, const struct fence_answer *answer);

#endif
