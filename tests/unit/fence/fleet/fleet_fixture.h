/* Fleets under test, apart from a core: what handshakes found is told to them by hand, all at one
 * moment unless a case says otherwise. The findings of a good handshake are core_facts(). */
#ifndef TESTS_UNIT_FENCE_FLEET_FLEET_FIXTURE_H
#define TESTS_UNIT_FENCE_FLEET_FLEET_FIXTURE_H

#include "fence/fleet/fleet.h"
#include "tests/unit/fence/core_fixture.h"

enum {
    FLEET_NOW_US = 1000,
};

/* A fleet of @n masters of which none was met yet, and one whose masters are all active. */
struct fence_fleet fleet_unmet(unsigned n);
struct fence_fleet fleet_active(unsigned n);

/* A handshake with master @i found @facts. Returns what fence_fleet_judge_all() did. */
uint32_t fleet_learn(struct fence_fleet *fleet, unsigned i, struct fence_facts facts);
uint32_t fleet_learn_at(struct fence_fleet *fleet, unsigned i, struct fence_facts facts,
                        uint64_t now_us);

/* Master @i is not reached any more. */
void fleet_lose(struct fence_fleet *fleet, unsigned i);

/* Makes a run id or a fleet id another one, always the same. */
void become_other(char id[FENCE_ID_HEX_LEN + 1]);

void assert_master(const struct fence_fleet *fleet, unsigned i, enum fence_master_state state,
                   enum fence_reason reason);

#endif
