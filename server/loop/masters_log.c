#include "server/loop/masters_log.h"

#include "fence/fleet/misordered.h"
#include "server/system/log.h"
#include "storage/master.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    SETTLED_MS = 2 * STORAGE_HANDSHAKE_DEADLINE_MS,
};

static const uint64_t lasted_us = UINT64_C(1000) * SERVER_MASTERS_LASTED_MS;

void server_masters_log_init(struct server_masters_log *log, const char *label,
                             struct storage_master *const *masters, uint64_t now_us)
{
    memset(log, 0, sizeof(*log));
    log->label = label;
    log->masters = masters;
    log->settled_us = now_us + SETTLED_MS * UINT64_C(1000);
    log->due_us = now_us + lasted_us;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
        log->told[i].reason = FENCE_REASON_CONNECTING;
        log->told[i].since_us = now_us;
        log->seen[i].state = FENCE_MASTER_DOWN;
        log->seen[i].since_us = now_us;
    }
}

/* Returns the kind of log line for a master: each master of each worker has its own. */
static unsigned log_key(const struct server_masters_log *log, unsigned i)
{
    return (unsigned)((uintptr_t)log / FENCE_MASTERS_MAX + i);
}

/* Reports whether the text of the last failure is about @reason, and not about an old failure. */
static bool has_detail(enum fence_reason reason)
{
    return reason == FENCE_REASON_UNREACHABLE || reason == FENCE_REASON_UNWILLING ||
           reason == FENCE_REASON_ERROR || reason == FENCE_REASON_CHANGED;
}

/* Logs why a master does not vote. A failure is a whole sentence, in the words of its source. */
static void log_why_not(const struct server_masters_log *log, const struct fence_fleet *fleet,
                        unsigned i, const char *lasted)
{
    assert(i < fleet->n && log->told[i].state != FENCE_MASTER_ACTIVE);
    const struct fence_master *master = &fleet->master[i];
    const enum fence_reason reason = log->told[i].reason;
    bool failed = master->state == FENCE_MASTER_DOWN && has_detail(reason);
    const char *failure = failed ? storage_master_detail(log->masters[i]) : "";
    size_t len = strlen(failure);
    bool ends = len > 0 && failure[len - 1] == '.';
    server_log_few(log->told[i].warned ? SERVER_LOG_WARNING : SERVER_LOG_INFO, log_key(log, i),
                   "%smaster %u (%s) does not vote%s: %s%s%s%s", log->label, i + 1,
                   storage_master_address(log->masters[i]), lasted,
                   fence_reason_words(reason, &master->facts)->text,
                   len > 0 ? " Last failure: " : "", failure, len > 0 && !ends ? "." : "");
}

static bool is_about_order(enum fence_reason reason)
{
    return reason == FENCE_REASON_OTHER_MEMBER || reason == FENCE_REASON_LIST_ORDER;
}

/* Logs the right order if the list of masters has another: once for each master in a wrong
 * place. */
static void log_order(const struct server_masters_log *log, const struct fence_fleet *fleet)
{
    const char *addresses[FENCE_MASTERS_MAX];
    char order[FENCE_ORDER_TEXT_MAX];
    if (!fence_fleet_misordered(fleet))
        return;
    for (unsigned i = 0; i < fleet->n; i++)
        addresses[i] = storage_master_address(log->masters[i]);
    fence_fleet_order_text(fleet, addresses, order);
    server_log_few(SERVER_LOG_WARNING, log_key(log, 0),
                   "%sthe --master list is in another order than the fleet: use %s", log->label,
                   order);
}

/* Reports whether the reason of master @i may still pass without an operator. */
static bool may_pass(const struct server_masters_log *log, unsigned i, uint64_t now_us)
{
    return fence_reason_passes(log->told[i].reason) && now_us < log->told[i].since_us + lasted_us;
}

/* Returns how long master @i was without a vote before. Short votes do not end that time. */
static uint64_t without_before(const struct server_masters_log *log, unsigned i, uint64_t now_us)
{
    return now_us < log->told[i].voted_us + lasted_us ? log->told[i].without_us : 0;
}

static void log_change(struct server_masters_log *log, const struct fence_fleet *fleet, unsigned i,
                       uint64_t now_us)
{
    const bool voted = log->told[i].state == FENCE_MASTER_ACTIVE;
    assert(i < fleet->n);
    log->told[i].state = fleet->master[i].state;
    log->told[i].reason = fence_fleet_told(fleet, i);
    if (log->told[i].state == FENCE_MASTER_ACTIVE) {
        log->told[i].voted_us = now_us;
        log->told[i].without_us = now_us - log->told[i].since_us;
        log->told[i].warned = false;
        server_log_few(SERVER_LOG_INFO, log_key(log, i), "%smaster %u (%s) votes", log->label,
                       i + 1, storage_master_address(log->masters[i]));
        return;
    }
    if (voted)
        log->told[i].since_us = now_us - without_before(log, i, now_us);
    log->told[i].warned = !may_pass(log, i, now_us);
    log_why_not(log, fleet, i, "");
    if (is_about_order(log->told[i].reason))
        log_order(log, fleet);
}

/* Logs that master @i has been without a vote for long, if it is time. Returns when to look
 * again. */
static uint64_t log_lasting(struct server_masters_log *log, const struct fence_fleet *fleet,
                            unsigned i, uint64_t now_us)
{
    char lasted[64];
    if (log->told[i].state == FENCE_MASTER_ACTIVE || log->told[i].warned)
        return FENCE_NEVER;
    if (may_pass(log, i, now_us))
        return log->told[i].since_us + lasted_us;
    log->told[i].warned = true;
    (void)snprintf(lasted, sizeof(lasted), ", and has not for %u s",
                   (unsigned)((now_us - log->told[i].since_us) / 1000000));
    log_why_not(log, fleet, i, lasted);
    return FENCE_NEVER;
}

/* Reports whether the state depends on masters that are still being connected to. */
static bool is_unsettled(const struct server_masters_log *log, enum fence_master_state state,
                         enum fence_reason reason, uint64_t now_us)
{
    bool depends = state == FENCE_MASTER_WAITING || reason == FENCE_REASON_BLANK;
    return depends && now_us < log->settled_us;
}

static void note_state(struct server_masters_log *log, unsigned i, enum fence_master_state state,
                       uint64_t now_us)
{
    if (log->seen[i].state == state)
        return;
    log->seen[i].state = state;
    log->seen[i].since_us = now_us;
}

uint64_t server_masters_log_since_us(const struct server_masters_log *log, unsigned i)
{
    assert(i < FENCE_MASTERS_MAX);
    return log->seen[i].since_us;
}

void server_masters_log_votes(struct server_masters_log *log, const struct fence_fleet *fleet,
                              uint64_t now_us)
{
    log->due_us = FENCE_NEVER;
    assert(fleet->n <= FENCE_MASTERS_MAX);
    for (unsigned i = 0; i < fleet->n; i++) {
        const enum fence_master_state state = fleet->master[i].state;
        const enum fence_reason reason = fence_fleet_told(fleet, i);
        const bool changed = state != log->told[i].state || reason != log->told[i].reason;
        uint64_t due_us = log->settled_us;
        note_state(log, i, state, now_us);
        if (!changed || !is_unsettled(log, state, reason, now_us)) {
            if (changed)
                log_change(log, fleet, i, now_us);
            due_us = log_lasting(log, fleet, i, now_us);
        }
        log->due_us = due_us < log->due_us ? due_us : log->due_us;
    }
}

static void log_term(const struct server_masters_log *log, const char *option, uint32_t said,
                     uint32_t has)
{
    if (said != 0 && said != has)
        server_log_few(SERVER_LOG_WARNING, log_key(log, 0),
                       "%s %u is ignored: the fleet was created with the value %u. Remove the "
                       "option, or move the fleet to the new value: pawld move %s",
                       option, (unsigned)said, (unsigned)has, option);
}

void server_masters_log_terms(struct server_masters_log *log, const struct fence_fleet *fleet,
                              uint32_t ttl_max_ms, uint32_t extensions_max)
{
    const uint32_t extensions =
        fleet->extensions_max != 0 ? fleet->extensions_max : FENCE_EXTENSIONS_MAX;
    if (strcmp(log->told_fleet_id, fleet->fleet_id) == 0)
        return;
    memcpy(log->told_fleet_id, fleet->fleet_id, sizeof(log->told_fleet_id));
    log_term(log, "--max-ttl-ms", ttl_max_ms, fleet->ttl_max_ms);
    log_term(log, "--max-extensions", extensions_max, extensions);
}
