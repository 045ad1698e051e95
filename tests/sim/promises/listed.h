/* The promises of a listing (fence/listing/page.h), held against the locks of all masters:
 *
 *   L1  a lock is listed that was under one lock id on the same majority of masters from before the
 *       first page until after the last. No machine took another's place meanwhile;
 *   L2  what is listed was under that lock id on a majority, each at some moment while its page was
 *       made. Masters that could not be heard count as if it was on them;
 *   L3  each page is answered, once, and nothing is waited for without an end. */
#ifndef TESTS_SIM_PROMISES_LISTED_H
#define TESTS_SIM_PROMISES_LISTED_H

#include "fence/protocol/listing_message.h"
#include "tests/sim/promises/check.h"

struct sim_world;

struct sim_listed {
    bool under_way;
    unsigned machine[FENCE_MASTERS_MAX]; /* at the address of each master when it began, */
    uint32_t steady;                     /* and those to which it still stands at each server that
                                          * made a page */
    struct sim_seen {
        bool present; /* when it was last looked at, */
        bool kept;    /* and ever since the listing began, under this lock id */
        uint32_t lock;
        int64_t number;
        uint64_t expires_us; /* on the master's own clock */
    } seen[SIM_MACHINES_MAX][SIM_RESOURCES_MAX];
    uint8_t gained[SIM_HOLDERS_MAX]; /* a set: of which resources some master came under that lock
                                      * id since the listing began */
    uint8_t listed[SIM_HOLDERS_MAX]; /* a set: which resources were listed under it */
    unsigned unheard[SIM_RESOURCES_MAX]; /* masters that did not say who holds it, for the page */
    uint16_t had[SIM_RESOURCES_MAX][SIM_HOLDERS_MAX]; /* a set: the members that were under it
                                                       * since the page began */
};

/* A listing begins; server @s begins a page of it; server @s connected to the machine that stands
 * for master @i now. */
void sim_listed_begin(struct sim_world *world);
void sim_listed_page_begins(struct sim_world *world, unsigned s);
void sim_listed_connected(struct sim_world *world, unsigned i);

/* The lock of @resource on @machine may have changed. */
void sim_listed_note(struct sim_world *world, unsigned machine, uint32_t resource);

/* For the page, @unheard masters did not say who holds @resource. */
void sim_listed_inspected(struct sim_world *world, uint32_t resource, unsigned unheard);

/* Checks L2 of a page, and notes what is on it. */
void sim_listed_page(struct sim_world *world, const struct fence_listing_answer *page);

/* The last page was answered, and all went well: checks L1. */
void sim_listed_end(struct sim_world *world);

/* The listing ends before its last page. */
void sim_listed_give_up(struct sim_world *world);

#endif
