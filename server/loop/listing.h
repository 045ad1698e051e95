/* Listings of held locks (fence/listing/page.h): carries out the effects of the page machines on
 * the masters, the core and the loop, and returns their answers to the machines. All functions
 * belong to the loop's thread. */
#ifndef SERVER_LOOP_LISTING_H
#define SERVER_LOOP_LISTING_H

#include "fence/protocol/listing_message.h"
#include "server/loop/driver.h"

enum {
    SERVER_LISTINGS = 4, /* pages that a worker makes at a time; one more is refused */
};

struct server_listings_config {
    uv_loop_t *loop;
    struct server_driver *driver; /* borrowed */

    /* A page is ready, or has failed. @page is valid during this call. */
    void (*answer)(void *context, const struct fence_listing_answer *page);
    void *context;
};

struct server_listings;

/* FENCE_ENOMEM. */
FENCE_CHECKED int server_listings_new(const struct server_listings_config *config,
                                      struct server_listings **ret_listings);

/* Frees the listings; pages under way get no answer. The memory is freed when the loop has run the
 * last callbacks. Call it right before server_driver_free(), with no turn of the loop in between.
 * NULL is fine. */
void server_listings_free(struct server_listings *listings);

/* Starts a call for a page; config.answer follows exactly once, perhaps before this returns. */
void server_listings_call(struct server_listings *listings, const struct fence_listing_call *call);

/* Takes an answer of the driver to FENCE_ORIGIN_LISTING; call it for each. */
void server_listings_answer(struct server_listings *listings, const struct fence_answer *answer);

#endif
