#include "tests/sim/masters/locks.h"

#include "tests/sim/masters/import.h"
#include "tests/sim/masters/mutant.h"

static struct sim_reply yes_or_no(bool yes)
{
    return (struct sim_reply){.kind = yes ? FENCE_REPLY_YES : FENCE_REPLY_NO};
}

static uint64_t left_ms(const struct sim_lock *lock, uint64_t local_us)
{
    return (lock->expires_us - local_us) / 1000;
}

static struct sim_reply held(const struct sim_lock *lock, unsigned member, uint64_t local_us)
{
    return (struct sim_reply){
        .kind = FENCE_REPLY_HELD,
        .lock = lock->lock,
        .member = member,
        .number = {lock->number},
        .remaining_ms = left_ms(lock, local_us),
    };
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* False where the counter is used up. A hint that is not too far above it raises it first; 0: none.
 */
static bool count(struct sim_master *master, uint32_t slot, int64_t hint, int64_t *ret_number)
{
    int64_t base = sim_master_counter(master, slot);
    if (hint > base && hint <= base + FENCE_HINT_LEAP)
        base = hint;
    if (base >= FENCE_TOKEN_MAX)
        return false;
    *ret_number = master->memory.counters.slot[slot] = base + 1;
    return true;
}

static bool is_attempts(const struct sim_lock *lock, const struct sim_lock_request *request)
{
    return lock->present && lock->lock == request->lock && lock->attempt == request->attempt;
}

/* Whether the client's own lock id has it, by whatever attempt. */
static bool is_found(const struct sim_lock *lock, const struct sim_lock_request *request)
{
    bool asks = request->idempotent || SIM_MUTANT(ALL_ADOPT);
    return asks && lock->present && lock->lock == request->lock && !is_attempts(lock, request);
}

static bool is_in_the_way(const struct sim_lock *lock, const struct sim_lock_request *request)
{
    return lock->present && !is_attempts(lock, request) && !is_found(lock, request);
}

static bool lock_anew(struct sim_master *master, unsigned k, const struct sim_lock_request *request,
                      bool copy, uint64_t local_us)
{
    struct sim_lock *lock = &master->memory.locks[request->set.resource[k]];
    uint32_t slot = sim_master_slot(master, request->set.resource[k]);
    int64_t number = 0;
    if (!count(master, slot, request->hint[k], &number))
        return false;
    *lock = (struct sim_lock){
        .present = true,
        .by_copy = copy,
        .lock = request->lock,
        .attempt = request->attempt,
        .number = number,
        .expires_us = local_us + request->ttl_ms * UINT64_C(1000),
    };
    return true;
}

/* A lock that was imported is counted anew, and is this master's from here on. */
static bool count_if_imported(struct sim_master *master, struct sim_lock *lock, uint32_t slot,
                              struct sim_reply *reply)
{
    if (!lock->imported)
        return true;
    if (!SIM_MUTANT(STORED_NUMBER_KEPT) && !count(master, slot, 0, &lock->number))
        return false;
    lock->imported = false;
    lock->from = lock->seen = 0;
    reply->counted_anew = true;
    return true;
}

/* What was found grants no more than what is left of its lease. */
static void limit(const struct sim_lock *lock, uint64_t local_us, struct sim_reply *reply)
{
    uint64_t remaining_ms = left_ms(lock, local_us) > 0 ? left_ms(lock, local_us) : 1;
    if (reply->remaining_ms == 0 || reply->remaining_ms > remaining_ms)
        reply->remaining_ms = remaining_ms;
}

/* The attempt's own, or a new one. */
static bool take_own(struct sim_master *master, unsigned k, const struct sim_lock_request *request,
                     bool copy, uint64_t local_us, struct sim_reply *reply)
{
    struct sim_lock *lock = &master->memory.locks[request->set.resource[k]];
    uint32_t slot = sim_master_slot(master, request->set.resource[k]);
    reply->found = false;
    if (!is_attempts(lock, request))
        return lock_anew(master, k, request, copy, local_us);
    if (lock->imported)
        limit(lock, local_us, reply);
    return count_if_imported(master, lock, slot, reply);
}

static bool take_found(struct sim_master *master, struct sim_lock *lock, uint32_t slot,
                       uint64_t local_us, struct sim_reply *reply)
{
    limit(lock, local_us, reply);
    if (!count_if_imported(master, lock, slot, reply))
        return false;
    if (!SIM_MUTANT(ADOPTED_UNMARKED))
        lock->attempt = SIM_ADOPTED; /* from here on no clean-up takes it */
    return true;
}

/* False where the counter is used up: then nothing was done. */
static bool take_one(struct sim_master *master, unsigned k, const struct sim_lock_request *request,
                     bool copy, uint64_t local_us, struct sim_reply *reply)
{
    struct sim_lock *lock = &master->memory.locks[request->set.resource[k]];
    uint32_t slot = sim_master_slot(master, request->set.resource[k]);
    if (is_in_the_way(lock, request)) /* only where a mutant lets it */
        return count(master, slot, 0, &reply->number[k]);
    bool taken = is_found(lock, request) ? take_found(master, lock, slot, local_us, reply)
                                         : take_own(master, k, request, copy, local_us, reply);
    reply->number[k] = lock->number;
    return taken;
}

/* All or none, unless a counter is used up. */
static struct sim_reply take(struct sim_master *master, const struct sim_lock_request *request,
                             bool copy, uint64_t local_us)
{
    unsigned looked_at = SIM_MUTANT(GROUP_IN_PART) ? 1 : request->set.count;
    for (unsigned k = 0; k < looked_at; k++) {
        struct sim_lock *lock = &master->memory.locks[request->set.resource[k]];
        if (!is_in_the_way(lock, request))
            continue;
        if (request->waits && !SIM_MUTANT(WAITS_UNNOTED))
            lock->waited_until_us = lock->expires_us;
        return held(lock, k, local_us);
    }
    struct sim_reply reply = {.kind = FENCE_REPLY_NUMBER, .found = true};
    for (unsigned k = 0; k < request->set.count; k++) /* what was taken before stays */
        if (!take_one(master, k, request, copy, local_us, &reply))
            return (struct sim_reply){.kind = FENCE_REPLY_SPENT, .member = k};
    return reply;
}

/* ---- confirming ------------------------------------------------------------------------------ */

/* The number too: a repeated TAKE may have locked again, after somebody else's turn. */
static bool agrees(const struct sim_lock *lock, const struct sim_lock_request *request,
                   int64_t token)
{
    bool adopted = lock->present && lock->lock == request->lock && request->idempotent &&
                   lock->attempt == SIM_ADOPTED && !SIM_MUTANT(ADOPTED_UNCONFIRMED);
    if (!adopted && !is_attempts(lock, request))
        return false;
    if (SIM_MUTANT(CONFIRM_BY_ID) || (adopted && SIM_MUTANT(ADOPTED_BY_ID)))
        return true;
    return SIM_MUTANT(CONFIRM_EXACTLY) ? !lock->by_copy : lock->number <= token;
}

static void raise_to(struct sim_master *master, uint32_t resource, int64_t token)
{
    uint32_t slot = sim_master_slot(master, resource);
    if (sim_master_counter(master, slot) < token)
        master->memory.counters.slot[slot] = token;
    master->memory.locks[resource].number = token;
}

static struct sim_reply confirm(struct sim_master *master, const struct sim_lock_request *request)
{
    const struct sim_set *set = &request->set;
    unsigned looked_at = SIM_MUTANT(GROUP_CONFIRMED_IN_PART) ? 1 : set->count;
    for (unsigned k = 0; k < looked_at; k++)
        if (!agrees(&master->memory.locks[set->resource[k]], request, set->token[k]))
            return yes_or_no(false);
    for (unsigned k = 0; k < set->count; k++)
        raise_to(master, set->resource[k], set->token[k]);
    return yes_or_no(true);
}

/* ---- extending ------------------------------------------------------------------------------- */

/* Whether the grant that @request names was broken here. */
static bool is_broken(const struct sim_master *master, const struct sim_lock_request *request,
                      uint64_t local_us)
{
    for (unsigned k = 0; k < SIM_NOTES_MAX && !SIM_MUTANT(BREAK_UNNOTED); k++) {
        const struct sim_note *note = &master->memory.notes[k];
        if (note->expires_us > local_us && note->resource == request->set.resource[0] &&
            note->lock == request->lock && note->token >= request->set.token[0])
            return true;
    }
    return false;
}

/* What keeps the id's own lock from being extended, or YES. */
static enum fence_reply_kind judge_own(const struct sim_master *master, const struct sim_lock *lock,
                                       int64_t token)
{
    bool counts = sim_import_counts(master, lock) || SIM_MUTANT(EXTEND_ANY_IMPORTED);
    if (lock->number > token)
        return SIM_MUTANT(OWN_ID_PAST) ? FENCE_REPLY_PAST
               : lock->imported        ? FENCE_REPLY_UNCOUNTED
                                       : FENCE_REPLY_SUPERSEDED;
    if (!counts)
        return FENCE_REPLY_UNCOUNTED;
    return lock->extensions >= master->extensions ? FENCE_REPLY_EXHAUSTED : FENCE_REPLY_YES;
}

static struct sim_reply extend_own(const struct sim_master *master, struct sim_lock *lock,
                                   const struct sim_lock_request *request, uint64_t local_us)
{
    struct sim_reply reply = {.kind = judge_own(master, lock, request->set.token[0]),
                              .lock = lock->lock,
                              .imported = lock->imported};
    if (reply.kind != FENCE_REPLY_YES)
        return reply;
    lock->extensions++;
    if (!SIM_MUTANT(EXTENDED_UNMARKED))
        lock->attempt = SIM_ADOPTED;
    uint64_t expires_us = local_us + request->ttl_ms * UINT64_C(1000);
    if (lock->expires_us < expires_us)
        lock->expires_us = expires_us;
    reply.number[0] = lock->number == request->set.token[0] ? lock->extensions : 0;
    return reply;
}

/* Where the id has no lock: NO if it may join. */
static enum fence_reply_kind judge_other(const struct sim_master *master,
                                         const struct sim_lock *lock,
                                         const struct sim_lock_request *request)
{
    uint32_t slot = sim_master_slot(master, request->set.resource[0]);
    if (lock->present && lock->lock == SIM_TOMBSTONE)
        return SIM_MUTANT(TOMBSTONE_PAST) ? FENCE_REPLY_PAST : FENCE_REPLY_UNCOUNTED;
    bool joins = request->kind == FENCE_REQUEST_JOIN && !lock->present;
    if (sim_master_counter(master, slot) > request->set.token[0] &&
        !(joins && SIM_MUTANT(JOIN_PAST)))
        return FENCE_REPLY_PAST;
    return lock->present ? FENCE_REPLY_TAKEN : FENCE_REPLY_NO;
}

static struct sim_reply join_free(struct sim_master *master, struct sim_lock *lock,
                                  const struct sim_lock_request *request, uint64_t local_us)
{
    uint32_t slot = sim_master_slot(master, request->set.resource[0]);
    int64_t token = request->set.token[0];
    if (sim_master_counter(master, slot) < token)
        master->memory.counters.slot[slot] = token;
    *lock = (struct sim_lock){
        .present = true,
        .lock = request->lock,
        .extensions = request->extended,
        .attempt = request->attempt,
        .number = token,
        .expires_us = local_us + request->ttl_ms * UINT64_C(1000),
    };
    return (struct sim_reply){
        .kind = FENCE_REPLY_YES, .lock = lock->lock, .number = {lock->extensions}};
}

static struct sim_reply extend_unbroken(struct sim_master *master, struct sim_lock *lock,
                                        const struct sim_lock_request *request, uint64_t local_us)
{
    if (lock->present && lock->lock == request->lock)
        return extend_own(master, lock, request, local_us);
    struct sim_reply reply = {.kind = judge_other(master, lock, request)};
    if (reply.kind == FENCE_REPLY_NO && request->kind == FENCE_REQUEST_JOIN)
        return join_free(master, lock, request, local_us);
    return reply;
}

/* EXTEND, or JOIN: which locks where the lock is free. A grant that was broken has no lock here. */
static struct sim_reply extend(struct sim_master *master, struct sim_lock *lock,
                               const struct sim_lock_request *request, uint64_t local_us)
{
    struct sim_reply reply = extend_unbroken(master, lock, request, local_us);
    if (reply.kind != FENCE_REPLY_YES && reply.kind != FENCE_REPLY_NO &&
        is_broken(master, request, local_us))
        reply = (struct sim_reply){.kind = FENCE_REPLY_BROKEN};
    return reply;
}

/* ---- counting for a name --------------------------------------------------------------------- */

static int64_t larger_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The token of COUNT is how many values are taken. A read makes a counter only where a hint tells
 * that another master has it. */
static struct sim_reply count_named(struct sim_master *master,
                                    const struct sim_lock_request *request)
{
    int64_t *named = &master->memory.named[request->set.resource[0]];
    int64_t values = request->count;
    int64_t floor = SIM_MUTANT(NAMED_BELOW_FLOOR) ? 0 : master->memory.counters.floor;
    int64_t base = larger_of(larger_of(*named, floor), request->hint[0]);
    if (*named == 0 && values == 0 && request->hint[0] == 0) {
        if (floor == 0)
            return yes_or_no(false);
        return (struct sim_reply){.kind = FENCE_REPLY_NUMBER, .number = {floor}};
    }
    if (*named == 0 && request->hint[0] == 0 && sim_master_names(master) >= request->names_max)
        return (struct sim_reply){.kind = FENCE_REPLY_FULL};
    if (base > FENCE_TOKEN_MAX - values)
        return (struct sim_reply){.kind = FENCE_REPLY_SPENT};
    *named = base + values;
    return (struct sim_reply){.kind = FENCE_REPLY_NUMBER, .number = {*named}};
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void drop(struct sim_master *master, uint32_t resource, uint64_t local_us,
                 struct sim_reply *reply)
{
    struct sim_lock *lock = &master->memory.locks[resource];
    reply->kind = FENCE_REPLY_YES;
    reply->freed |= (uint32_t)(lock->waited_until_us > local_us) << resource;
    lock->present = false;
}

/* Whether it was extended, joined, found by a retry or imported. */
static bool is_adopted(const struct sim_lock *lock)
{
    return lock->attempt == SIM_ADOPTED || lock->extensions > 0 || lock->imported;
}

static struct sim_reply release(struct sim_master *master, const struct sim_lock_request *request,
                                uint64_t local_us)
{
    const struct sim_lock *lock = &master->memory.locks[request->set.resource[0]];
    struct sim_reply reply = yes_or_no(false);
    bool tombstone = lock->present && lock->lock == SIM_TOMBSTONE;
    if (tombstone && !SIM_MUTANT(TOMBSTONE_DELETABLE))
        reply.kind = FENCE_REPLY_UNCOUNTED;
    else if (lock->present && (lock->lock == request->lock || tombstone)) {
        reply.adopted = is_adopted(lock);
        drop(master, request->set.resource[0], local_us, &reply);
    }
    return reply;
}

static bool may_undo(const struct sim_lock *lock, const struct sim_lock_request *request)
{
    bool same_id = lock->present && lock->lock == request->lock;
    bool adopted = same_id && lock->attempt == SIM_ADOPTED;
    if (lock->present && lock->lock == SIM_TOMBSTONE)
        return SIM_MUTANT(TOMBSTONE_DELETABLE);
    return is_attempts(lock, request) || (same_id && SIM_MUTANT(UNDO_BY_LOCK_ID)) ||
           (adopted && SIM_MUTANT(ADOPTED_UNDONE));
}

/* Of several, each that is the attempt's. */
static struct sim_reply undo(struct sim_master *master, const struct sim_lock_request *request,
                             uint64_t local_us)
{
    struct sim_reply reply = yes_or_no(false);
    unsigned looked_at = SIM_MUTANT(GROUP_UNDONE_IN_PART) ? 1 : request->set.count;
    for (unsigned k = 0; k < looked_at; k++)
        if (may_undo(&master->memory.locks[request->set.resource[k]], request))
            drop(master, request->set.resource[k], local_us, &reply);
    return reply;
}

/* ---- breaking -------------------------------------------------------------------------------- */

/* The note of @request, or the one that ends first. */
static struct sim_note *note_of(struct sim_master *master, const struct sim_lock_request *request)
{
    struct sim_note *first = &master->memory.notes[0];
    for (unsigned k = 0; k < SIM_NOTES_MAX; k++) {
        struct sim_note *note = &master->memory.notes[k];
        if (note->lock == request->lock && note->resource == request->set.resource[0])
            return note;
        if (note->expires_us < first->expires_us)
            first = note;
    }
    return first;
}

static void note_broken(struct sim_master *master, const struct sim_lock_request *request,
                        uint64_t local_us)
{
    struct sim_note *note = note_of(master, request);
    bool is_own = note->lock == request->lock && note->resource == request->set.resource[0];
    int64_t token = request->set.token[0];
    *note = (struct sim_note){
        .resource = request->set.resource[0],
        .lock = request->lock,
        .token = is_own && note->expires_us > local_us && note->token > token ? note->token : token,
        .expires_us = local_us + request->ttl_ms * UINT64_C(1000),
    };
}

/* Whether the lock goes. */
static bool breaks(const struct sim_lock *lock, const struct sim_lock_request *request)
{
    bool is_own = lock->lock == request->lock;
    bool is_early = lock->number <= request->set.token[0];
    if (!lock->present || lock->lock == SIM_TOMBSTONE)
        return false;
    return (is_own && is_early) || SIM_MUTANT(BREAK_BY_NAME) ||
           (is_own && SIM_MUTANT(BREAK_BY_ID)) || (is_early && SIM_MUTANT(BREAK_BY_NUMBER));
}

static struct sim_reply break_grant(struct sim_master *master, struct sim_lock *lock,
                                    const struct sim_lock_request *request, uint64_t local_us)
{
    uint32_t slot = sim_master_slot(master, request->set.resource[0]);
    int64_t token = request->set.token[0];
    struct sim_reply reply = yes_or_no(true);
    if (token >= FENCE_TOKEN_MAX)
        return (struct sim_reply){.kind = FENCE_REPLY_SPENT};
    if (sim_master_counter(master, slot) <= token && !SIM_MUTANT(BREAK_UNCOUNTED))
        master->memory.counters.slot[slot] = token + 1;
    note_broken(master, request, local_us);
    if (breaks(lock, request)) {
        drop(master, request->set.resource[0], local_us, &reply);
        return reply;
    }
    bool is_own = lock->lock == request->lock;
    bool is_live = lock->present && lock->lock != SIM_TOMBSTONE;
    if (is_live && (is_own || (lock->number <= token && !SIM_MUTANT(BREAK_OTHERS_UNSEEN))))
        return held(lock, 0, local_us);
    return reply;
}

struct sim_reply sim_locks_execute(struct sim_master *master,
                                   const struct sim_lock_request *request, bool copy,
                                   uint64_t local_us)
{
    struct sim_lock *lock = &master->memory.locks[request->set.resource[0]];
    sim_master_expire_due(master, local_us);
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        return take(master, request, copy, local_us);
    case FENCE_REQUEST_CONFIRM:
        return confirm(master, request);
    case FENCE_REQUEST_EXTEND:
    case FENCE_REQUEST_JOIN:
        return extend(master, lock, request, local_us);
    case FENCE_REQUEST_RELEASE:
        return release(master, request, local_us);
    case FENCE_REQUEST_UNDO:
        return undo(master, request, local_us);
    case FENCE_REQUEST_INSPECT:
        return lock->present ? held(lock, 0, local_us) : yes_or_no(false);
    case FENCE_REQUEST_COUNT:
        return count_named(master, request);
    case FENCE_REQUEST_BREAK:
        return break_grant(master, lock, request, local_us);
    }
    return (struct sim_reply){.kind = FENCE_REPLY_REFUSED};
}
