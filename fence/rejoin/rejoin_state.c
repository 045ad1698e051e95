#include "fence/rejoin/rejoin_state.h"

#include "fence/base/moves.h"
#include "fence/base/set.h"

#include <assert.h>
#include <string.h>

static const uint32_t rejoin_moves[] = {
    [CORE_REJOIN_IDLE] = FENCE_MOVE(CORE_REJOIN_IDLE) | FENCE_MOVE(CORE_REJOIN_DELAYED),
    [CORE_REJOIN_DELAYED] = FENCE_MOVE(CORE_REJOIN_IDLE) | FENCE_MOVE(CORE_REJOIN_ASKING),
    [CORE_REJOIN_ASKING] = FENCE_MOVE(CORE_REJOIN_IDLE) | FENCE_MOVE(CORE_REJOIN_ASKING) |
                           FENCE_MOVE(CORE_REJOIN_MARKING),
    [CORE_REJOIN_MARKING] = FENCE_MOVE(CORE_REJOIN_IDLE) | FENCE_MOVE(CORE_REJOIN_CLEARING),
    [CORE_REJOIN_CLEARING] = FENCE_MOVE(CORE_REJOIN_IDLE) | FENCE_MOVE(CORE_REJOIN_CLEARING) |
                             FENCE_MOVE(CORE_REJOIN_RECORDING),
    [CORE_REJOIN_RECORDING] = FENCE_MOVE(CORE_REJOIN_IDLE) | FENCE_MOVE(CORE_REJOIN_RECORDING) |
                              FENCE_MOVE(CORE_REJOIN_IMPORTING),
    [CORE_REJOIN_IMPORTING] = FENCE_MOVE(CORE_REJOIN_IDLE) | FENCE_MOVE(CORE_REJOIN_RECORDING) |
                              FENCE_MOVE(CORE_REJOIN_QUARANTINED) |
                              FENCE_MOVE(CORE_REJOIN_ADMITTING),
    [CORE_REJOIN_QUARANTINED] = FENCE_MOVE(CORE_REJOIN_IDLE) | FENCE_MOVE(CORE_REJOIN_ADMITTING),
    [CORE_REJOIN_ADMITTING] = FENCE_MOVE(CORE_REJOIN_IDLE),
};

static void rejoin_move(struct core_rejoin *rejoin, enum core_rejoin_state to)
{
    assert(fence_move_allowed(rejoin_moves, rejoin->state, to));
    rejoin->state = to;
}

void core_rejoin_state_enter(struct core_rejoin *rejoin, enum core_rejoin_state state,
                             uint64_t due_us)
{
    rejoin_move(rejoin, state);
    rejoin->serial++;
    rejoin->due_us = due_us;
}

void core_rejoin_state_begin(struct core_rejoin *rejoin, uint64_t due_us)
{
    assert(rejoin->state == CORE_REJOIN_IDLE);
    rejoin->steps = 0;
    rejoin->rounds = 0;
    core_rejoin_state_enter(rejoin, CORE_REJOIN_DELAYED, due_us);
}

void core_rejoin_state_ask(struct core_rejoin *rejoin, enum core_rejoin_state state, uint32_t asked,
                           uint64_t due_us)
{
    assert(state == CORE_REJOIN_ASKING || state == CORE_REJOIN_RECORDING);
    rejoin->asked = asked;
    rejoin->answered = 0;
    core_rejoin_state_enter(rejoin, state, due_us);
}

void core_rejoin_state_import(struct core_rejoin *rejoin, uint32_t sources, uint64_t due_us)
{
    memset(rejoin->source, 0, sizeof(rejoin->source));
    rejoin->sources = sources;
    core_rejoin_state_enter(rejoin, CORE_REJOIN_IMPORTING, due_us);
}

void core_rejoin_state_quarantine(struct core_rejoin *rejoin, uint64_t due_us)
{
    assert(rejoin->state == CORE_REJOIN_IMPORTING);
    rejoin_move(rejoin, CORE_REJOIN_QUARANTINED);
    rejoin->due_us = due_us;
}

unsigned core_rejoin_state_merging(const struct core_source *source)
{
    unsigned merging = 0;
    for (unsigned part = 0; part < FENCE_REJOIN_PARTS; part++)
        merging += source->merging[part];
    return merging;
}

static bool is_imported(const struct core_source *source, enum fence_rejoin_part part)
{
    for (unsigned p = 0; p <= (unsigned)part; p++)
        if (source->merging[p] > 0)
            return false;
    return source->part > part;
}

uint32_t core_rejoin_state_imported(const struct core_rejoin *rejoin, enum fence_rejoin_part part)
{
    uint32_t set = 0;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if (fence_set_has(rejoin->sources, i) && is_imported(&rejoin->source[i], part))
            set |= fence_set_of(i);
    return set;
}

static bool is_read(const struct core_rejoin *rejoin, unsigned i)
{
    return rejoin->state == CORE_REJOIN_IMPORTING && fence_set_has(rejoin->sources, i) &&
           rejoin->source[i].part < FENCE_REJOIN_PARTS;
}

void core_rejoin_state_source_lost(struct core_rejoin *rejoin, unsigned i, uint64_t now_us)
{
    struct core_source *source = &rejoin->source[i];
    if (!is_read(rejoin, i))
        return;
    if (source->reading && ++source->tries >= FENCE_REJOIN_PAGE_TRIES_MAX)
        source->unreadable = source->broken = true;
    core_source_leave(source, now_us);
}

void core_rejoin_state_source_restarted(struct core_rejoin *rejoin, unsigned i, uint64_t now_us)
{
    if (!is_read(rejoin, i))
        return;
    rejoin->source[i].broken = true;
    core_source_leave(&rejoin->source[i], now_us);
}

void core_source_leave(struct core_source *source, uint64_t now_us)
{
    source->reading = false;
    if (source->away_us == 0)
        source->away_us = now_us;
}

void core_rejoin_state_end(struct core_rejoin *rejoin)
{
    core_rejoin_state_enter(rejoin, CORE_REJOIN_IDLE, FENCE_NEVER);
}
