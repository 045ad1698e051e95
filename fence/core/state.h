/* The core's inside, shared by the files of fence/core/ and nobody else. */
#ifndef FENCE_CORE_STATE_H
#define FENCE_CORE_STATE_H

#include "fence/base/timers.h"
#include "fence/core/admission.h"
#include "fence/core/clients.h"
#include "fence/core/core.h"
#include "fence/core/groups.h"
#include "fence/core/pending_cleanups.h"
#include "fence/core/rejoin_state.h"
#include "fence/core/wait_queue.h"
#include "fence/quorum/attempt.h"
#include "fence/quorum/quorum_call.h"

#include <assert.h>

/* A call under way.
 *
 *             .--- another is first in line ---> QUEUED --.
 *   ACQUIRE --'                                           | first by now
 *             '------------> TRYING <---------------------'
 *                             |   ^
 *           held, contended   v   | after a random delay, or a release
 *                           PAUSING
 *
 *   EXTEND, RELEASE, INSPECT ---> VOTING
 *
 * An acquire of several resources stands in no line: it is TRYING at once.
 *
 * Before TRYING and VOTING a call is ADMITTING while the masters owe too much
 * (fence/core/admission.h).
 *
 * Each ends in an answer, which frees the slot. Replies that come later name a round that is over,
 * and are dropped. */
enum call_state {
    CALL_FREE,
    CALL_QUEUED,
    CALL_ADMITTING,
    CALL_TRYING,
    CALL_PAUSING,
    CALL_VOTING,
};

struct call {
    enum call_state state;
    enum fence_call_kind kind;
    uint32_t next_free;
    uint32_t ttl_ms;
    uint32_t group; /* acquire: of several resources, in core->groups; FENCE_NOBODY: of one */
    bool again;     /* acquire: the lock id is the client's own */
    uint64_t round; /* which round the masters are answering; part of the tag */
    uint64_t client;
    uint64_t arrived_us;
    uint64_t wait_until_us; /* acquire: 0 does not wait */
    uint64_t generation;    /* of the view that the attempt works under */
    int64_t token;
    unsigned tries;
    unsigned soon;        /* looks in a row that were due within a moment, at ... */
    uint64_t soon_holder; /* ... what this one holds */
    unsigned unbacked;    /* acquire: refusals of the view that held, for which it began anew */
    uint16_t slot;
    struct fence_ballot ballot; /* acquire of one */
    union {
        struct fence_attempt attempt;
        struct fence_vote vote;
    };
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    char resource[FENCE_RESOURCE_MAX + 1];
};

struct fence_core {
    struct fence_config config;
    struct fence_fleet fleet;
    struct fence_timers timers;       /* one a call */
    struct fence_lines lines;         /* acquires, by resource */
    struct fence_clients clients;     /* acquires, by client */
    struct fence_groups groups;       /* acquires of several resources */
    struct fence_admission admission; /* calls that wait until the masters owe less */
    struct fence_debts debts;         /* clean-ups on their way */
    struct fence_rejoin *rejoins;     /* one a member */
    bool some_are_back;               /* masters are active that were not: rejoins may read on */
    struct call *calls;
    uint32_t free;
    uint32_t busy;
    uint32_t waiting; /* of the busy, acquires that wait */
    uint64_t rounds;

    /* Of the step under way. */
    uint64_t now_us;
    uint64_t random;
    struct fence_effects *effects;
};

/* A tag is an index in its lower 16 bits, of a call or of a debt, and above it which round of the
 * call or which debt it was. 0 is neither: its reply is only counted. */
enum {
    TAG_INDEX_BITS = 16,
    TAG_DEBT_BIT = 16,
    TAG_SERIAL_SHIFT = 17,
};
static_assert(FENCE_CALLS_MAX <= 1 << TAG_INDEX_BITS, "an index must fit its bits");
static_assert(FENCE_DEBTS_MAX <= 1 << TAG_INDEX_BITS, "an index must fit its bits");

static inline uint64_t fence_core_tag(uint64_t serial, bool is_debt, uint32_t index)
{
    return serial << TAG_SERIAL_SHIFT | (uint64_t)is_debt << TAG_DEBT_BIT | index;
}

static inline uint32_t fence_core_tag_index(uint64_t tag)
{
    return tag & ((UINT32_C(1) << TAG_INDEX_BITS) - 1);
}

static inline bool fence_core_tag_is_debt(uint64_t tag)
{
    return tag >> TAG_DEBT_BIT & 1;
}

static inline uint64_t fence_core_tag_serial(uint64_t tag)
{
    return tag >> TAG_SERIAL_SHIFT;
}

static inline uint32_t fence_core_index(const struct fence_core *core, const struct call *call)
{
    return (uint32_t)(call - core->calls);
}

static inline void fence_core_wake_at(struct fence_core *core, const struct call *call,
                                      uint64_t due_us)
{
    fence_timers_set(&core->timers, fence_core_index(core, call), due_us);
}

/* Copies @from (NULL: nothing) to @to, which must have room. */
void fence_core_copy_text(char *to, size_t size, const char *from);

/* The next random number of this step. */
uint64_t fence_core_random(struct fence_core *core);

/* Starts a round: replies to earlier ones no longer count. */
void fence_core_next_round(struct fence_core *core, struct call *call);

/* A fresh effect of this step. */
struct fence_effect *fence_core_effect(struct fence_core *core, enum fence_effect_kind kind);

/* Sends @request, which is complete, to each master of @set that is active. */
void fence_core_send(struct fence_core *core, uint32_t set, const struct fence_request *request);

/* Sends @request, completed with the call's strings, to each master of @set that is active: to ask
 * (the replies belong to the call's round), or only to tell (a clean-up, whose replies count for
 * nothing). */
void fence_core_ask(struct fence_core *core, const struct call *call, uint32_t set,
                    const struct fence_request *request);
void fence_core_tell(struct fence_core *core, const struct call *call, uint32_t set,
                     const struct fence_request *request);

/* Has @taken undone: now where a master is active, else when it is back. */
void fence_core_undo(struct fence_core *core, const struct fence_taken *taken);

/* Master @i replied to a clean-up; the next of those to be told again. */
void fence_core_undo_reply(struct fence_core *core, unsigned i, uint32_t index, uint64_t serial,
                           enum fence_reply_kind kind);
void fence_core_undo_again(struct fence_core *core);

/* An answer to @call with what all answers carry. The caller completes it before the step ends. */
struct fence_answer *fence_core_answer(struct fence_core *core, const struct call *call, int error);

/* Admission (admit.c). Whether a majority owes so little that more may be asked. */
bool fence_core_has_room(const struct fence_core *core, enum fence_class class);

/* Whether @call may ask the masters now. If not, it is ADMITTING, and is
 * begun later with fence_core_acquire_admitted() or fence_core_vote_admitted(), or its timer comes.
 */
bool fence_core_admit(struct fence_core *core, struct call *call);

/* @call, which is ADMITTING, is no more. */
void fence_core_admit_leave(struct fence_core *core, struct call *call);

/* Whether a call that waited may be begun; which one, where one may. It waits no more. */
bool fence_core_admit_due(const struct fence_core *core);
struct call *fence_core_admit_next(struct fence_core *core);

/* Calls under way (calls.c). A slot for @asked, of which one is free: not begun yet. */
struct call *fence_core_open(struct fence_core *core, const struct fence_call *asked);

/* Answers went out: the slot is free. Its strings stay for the rest of the step. */
void fence_core_finish(struct fence_core *core, struct call *call);

/* What is learnt of masters, and what follows from it (masters.c): a handshake ended, a
 * refusal carried a view, a connection ended, those in @set are to be given up. */
void fence_core_learn(struct fence_core *core, unsigned i, const struct fence_facts *facts);
void fence_core_learn_view(struct fence_core *core, unsigned i, const struct fence_view *view);
void fence_core_lose(struct fence_core *core, unsigned i, enum fence_reason reason);
void fence_core_give_up(struct fence_core *core, uint32_t set, enum fence_reason reason);

/* Masters that forgot (rejoin.c): master @i replied; time went by. */
void fence_core_rejoin_reply(struct fence_core *core, unsigned i,
                             const struct fence_rejoin_reply *reply);

uint64_t fence_core_rejoin_deadline(const struct fence_core *core);
void fence_core_rejoin_tick(struct fence_core *core);

/* At the end of each step: where masters are back, they may be read on. */
void fence_core_rejoin_go_on(struct fence_core *core);

/* Where an acquire stands (waiting.c). @call, new, goes to the end of the line for its resource,
 * or stands by itself with @group. True if it may try at once. */
bool fence_core_stand(struct fence_core *core, struct call *call, const struct fence_group *group);

/* @call has its answer. Whoever stood behind it is first now. */
void fence_core_leave(struct fence_core *core, struct call *call);

/* What was seen of its resource, or of the one that was in its way; and whether another than its
 * own lock id is known to hold it. */
struct fence_sighting *fence_core_seen(const struct fence_core *core, const struct call *call);
bool fence_core_knows_held(const struct fence_core *core, const struct call *call);

/* Its own lock id is known to hold it: the client asks again, and those before it wait for itself.
 */
bool fence_core_holds_itself(const struct fence_core *core, const struct call *call);

/* Whether others stand before @call in its line. It may ask while it holds the resource itself. */
bool fence_core_stands_behind(const struct fence_core *core, const struct call *call);

/* @call, the first of a line, learnt who holds the resource: that answers those behind it who only
 * ask, and who ask again for what they hold themselves. Those who ask came since the last time that
 * somebody learnt it, so they are at the end. */
void fence_core_answer_line(struct fence_core *core, const struct call *call);

/* Until @due_us, or until its wait is over. */
void fence_core_pause_until(struct fence_core *core, struct call *call, uint64_t due_us);

/* A waiter looks soon when it has become the first, so that the masters know that somebody waits.
 * Then it is told when the lock is free; it looks at the end of the lease, and now and then, since
 * it may not have been told. At random, so that servers come apart. */
uint64_t fence_core_next_look_us(struct fence_core *core, struct call *call);

/* The holder with @lock_id gave up @resource. */
void fence_core_freed(struct fence_core *core, const char *resource, const char *lock_id);

/* The parts of a state machine that one kind of call needs (acquire.c, quorum_calls.c). @group is
 * the event's, NULL for one resource. */
void fence_core_acquire_begin(struct fence_core *core, struct call *call,
                              const struct fence_group *group);
void fence_core_acquire_admitted(struct fence_core *core, struct call *call);
void fence_core_acquire_reply(struct fence_core *core, struct call *call, unsigned i,
                              const struct fence_reply *reply);
void fence_core_acquire_timer(struct fence_core *core, struct call *call);
void fence_core_acquire_abandon(struct fence_core *core, struct call *call);
void fence_core_vote_begin(struct fence_core *core, struct call *call);
void fence_core_vote_admitted(struct fence_core *core, struct call *call);
void fence_core_vote_reply(struct fence_core *core, struct call *call, unsigned i,
                           const struct fence_reply *reply);
void fence_core_vote_timer(struct fence_core *core, struct call *call);

#endif
