/* Pages of a simulated master: what read.lua and install.lua read and write. A page is a struct
 * sim_page: the floor and one counter, or one lock. */
#ifndef TESTS_SIM_MASTERS_PAGES_H
#define TESTS_SIM_MASTERS_PAGES_H

#include "fence/master/store.h"
#include "tests/sim/masters/master.h"

/* As fence_master_store.read_page and .merge_page; the context is a struct sim_turn. */
bool sim_pages_read(void *context, const struct fence_rejoin_request *request,
                    struct fence_rejoin_reply *reply);
void sim_pages_merge(void *context, const struct fence_page *page, unsigned source);

/* @master is about to be admitted: the rules that are off here would keep only what so many masters
 * had. */
void sim_pages_end(struct sim_master *master);

#endif
