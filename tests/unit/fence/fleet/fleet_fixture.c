#include "tests/unit/fence/fleet/fleet_fixture.h"

#include <string.h>

struct fence_fleet fleet_unmet(unsigned n)
{
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, n);
    return fleet;
}

struct fence_fleet fleet_active(unsigned n)
{
    struct fence_fleet fleet = fleet_unmet(n);
    for (unsigned i = 0; i < n; i++) {
        struct fence_facts facts = core_facts(i);
        fence_fleet_learn(&fleet, i, &facts, FLEET_NOW_US);
    }
    assert_int_equal(fence_fleet_judge_all(&fleet, FLEET_NOW_US), 0);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(n));
    return fleet;
}

uint32_t fleet_learn_at(struct fence_fleet *fleet, unsigned i, struct fence_facts facts,
                        uint64_t now_us)
{
    fence_fleet_learn(fleet, i, &facts, now_us);
    return fence_fleet_judge_all(fleet, now_us);
}

uint32_t fleet_learn(struct fence_fleet *fleet, unsigned i, struct fence_facts facts)
{
    return fleet_learn_at(fleet, i, facts, FLEET_NOW_US);
}

void fleet_lose(struct fence_fleet *fleet, unsigned i)
{
    fence_fleet_lose(fleet, i, FENCE_REASON_UNREACHABLE);
}

void become_other(char id[FENCE_ID_HEX_LEN + 1])
{
    memset(id, 'e', FENCE_ID_HEX_LEN);
    id[FENCE_ID_HEX_LEN] = '\0';
}

void assert_master(const struct fence_fleet *fleet, unsigned i, enum fence_master_state state,
                   enum fence_reason reason)
{
    assert_string_equal(fence_master_state_name(fleet->master[i].state),
                        fence_master_state_name(state));
    assert_string_equal(fence_reason_words(fleet->master[i].reason, NULL)->name,
                        fence_reason_words(reason, NULL)->name);
}
