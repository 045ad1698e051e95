#include "fence/rejoin.h"

#include <assert.h>
#include <string.h>

void fence_rejoin_enter(struct fence_rejoin *rejoin, enum fence_rejoin_state state, uint64_t due_us)
{
    rejoin->state = state;
    rejoin->serial++;
    rejoin->due_us = due_us;
}

void fence_rejoin_begin(struct fence_rejoin *rejoin, bool keep_locks, uint64_t due_us)
{
    assert(rejoin->state == FENCE_REJOIN_IDLE);
    rejoin->keep_locks = keep_locks;
    rejoin->cursor = 0;
    rejoin->wiped = 0;
    rejoin->rounds = 0;
    fence_rejoin_enter(rejoin, FENCE_REJOIN_DELAYED, due_us);
}

void fence_rejoin_ask(struct fence_rejoin *rejoin, uint32_t asked, uint64_t due_us)
{
    rejoin->asked = asked;
    rejoin->read = 0;
    rejoin->rounds++;
    fence_rejoin_enter(rejoin, FENCE_REJOIN_ASKING, due_us);
}

void fence_rejoin_record(struct fence_rejoin *rejoin, unsigned member,
                         const struct fence_view *view, uint32_t asked, uint64_t due_us)
{
    rejoin->view = *view;
    rejoin->view.incarnation[member] = rejoin->incarnation;
    rejoin->asked = asked;
    rejoin->read = 0;
    memset(&rejoin->counters, 0, sizeof(rejoin->counters));
    fence_rejoin_enter(rejoin, FENCE_REJOIN_RECORDING, due_us);
}

static void raise_to(int64_t *counter, int64_t read)
{
    if (*counter < read)
        *counter = read;
}

void fence_rejoin_add(struct fence_rejoin *rejoin, const struct fence_counters *counters)
{
    assert(rejoin->state == FENCE_REJOIN_RECORDING);
    raise_to(&rejoin->counters.floor, counters->floor);
    for (unsigned slot = 0; slot < FENCE_SLOTS; slot++)
        raise_to(&rejoin->counters.slot[slot], counters->slot[slot]);
}

void fence_rejoin_end(struct fence_rejoin *rejoin)
{
    fence_rejoin_enter(rejoin, FENCE_REJOIN_IDLE, FENCE_NEVER);
}
