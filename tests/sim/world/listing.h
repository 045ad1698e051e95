/* Listings of held locks: somebody who lists, page by page, at any server, and at each server the
 * real machine of a page (fence/listing/page.h), with what carries its questions. Only some worlds
 * have any (sim_plan.lists). */
#ifndef TESTS_SIM_WORLD_LISTING_H
#define TESTS_SIM_WORLD_LISTING_H

#include "fence/listing/page.h"
#include "tests/sim/promises/listed.h"
#include "tests/sim/world/plan.h"

struct sim_message;

enum {
    SIM_PAGE_MAX = SIM_RESOURCES_MAX, /* locks */
};

struct sim_listing {
    struct sim_rng rng;
    unsigned left;   /* listings still to begin */
    unsigned pages;  /* so far, of the one under way; 0: none is */
    unsigned limit;  /* limit of its pages */
    unsigned server; /* that makes a page of it now; SIM_SERVERS_MAX: none does */
    char cursor[FENCE_LISTING_CURSOR_MAX];
    uint8_t table[SIM_MACHINES_MAX]; /* bits of the number of a bucket (scan.h) */
    struct sim_page_maker {
        struct fence_listing page;
        uint64_t tick_at_us; /* true time; FENCE_NEVER: no tick is scheduled */
        unsigned inspecting; /* calls without an answer */
        struct fence_listed locks[SIM_PAGE_MAX];
        struct fence_lock_name name[SIM_FOUND_MAX];
        struct fence_listing_holders holder[SIM_FOUND_MAX];
    } makers[SIM_SERVERS_MAX];
    struct sim_listed listed;
};

void sim_listing_start(struct sim_world *world, uint64_t seed);

/* The next page is asked for, or a listing begun. */
void sim_listing_act(struct sim_world *world);

/* The timer of the machine at server @s fired; the core there answered a call of it; master @i
 * answered @message, or @part says why not; the server crashed. */
void sim_listing_tick(struct sim_world *world, unsigned s);
void sim_listing_inspected(struct sim_world *world, unsigned s, const struct fence_answer *answer);
void sim_listing_told(struct sim_world *world, unsigned s, unsigned i,
                      const struct sim_message *message, enum fence_part part);
void sim_listing_crashed(struct sim_world *world, unsigned s);

/* Executes a SCAN or HOLDERS at @machine. */
struct sim_reply sim_listing_execute(struct sim_world *world, unsigned machine,
                                     const struct sim_request *request);

/* Now now every page must be answered. */
void sim_listing_check_over(struct sim_world *world);

#endif
