/* A core under test: a fleet of n active masters, a clock that stands still until told, and the
 * effects the effects of the last step. A part without a helper is given as a plain event.
 *
 *     struct core_fixture *f = core_fixture_new(state, 5);
 *     core_acquire(f, 1, 0);
 *     core_number(f, 0, 7);
 *     assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), 0);
 *
 * Each case is listed as CORE_CASE(name), which frees the fixture. Masters are numbered from 0, and
 * a set of them is written with CORE_SET(). */
#ifndef TESTS_UNIT_FENCE_CORE_FIXTURE_H
#define TESTS_UNIT_FENCE_CORE_FIXTURE_H

#include "fence/core.h"
#include "tests/lib/case.h"

#define CORE_CASE(name) cmocka_unit_test_teardown(name, core_fixture_end)

/* The set of the first @n masters, and of master @i alone. */
#define CORE_FIRST(n) ((UINT32_C(1) << (n)) - 1)
#define CORE_SET(i)   (UINT32_C(1) << (i))

/* The distance between two incarnations of a member that stand @n admissions apart. */
#define CORE_ADMISSIONS(n) ((INT64_C(1) << FENCE_INCARNATION_MEMORY_SHIFT) * (n))

#define CORE_RESOURCE     "orders/42"
#define CORE_OTHER_HOLDER "someone-elses-lock-id-00000"

enum {
    CORE_TTL_MS = 30 * 1000,
    CORE_TTL_MAX_MS = 300 * 1000,
    CORE_TOKEN = 7,
    CORE_CALLS = 8,
    CORE_CALLS_LARGE = 2048,
    CORE_WAITERS = 7,
    CORE_OWED = 32,
    CORE_EXTENSIONS = 100,
};

/* The steps of rejoins that one master has not answered, oldest first. */
struct core_owed {
    struct core_step {
        enum fence_rejoin_step step;
        uint64_t tag;
        unsigned member;
        struct fence_view view;
    } steps[CORE_OWED];
    unsigned count;
};

struct core_fixture {
    struct fence_core *core;
    unsigned n;
    uint64_t now_us;
    uint64_t random;                 /* for the next event */
    struct fence_effects effects;    /* of the last step */
    uint64_t tag[FENCE_MASTERS_MAX]; /* tag of what each master was asked last */
    struct core_owed owed[FENCE_MASTERS_MAX];
};

/* Why a server is unfit, in words that are no other caller's. */
extern const struct fence_words core_unfit;

/* The findings of a handshake with master @i when all is well. */
struct fence_facts core_facts(unsigned i);

/* A new core whose @n masters are all active, and one whose masters are not reached yet; both ask
 * all masters at once. And two with all active that ask a majority first: by slot, and the same for
 * all names. Whatever *@state held before is freed. */
struct core_fixture *core_fixture_new(void **state, unsigned n);
struct core_fixture *core_fixture_new_spread(void **state, unsigned n);
struct core_fixture *core_fixture_new_majority(void **state, unsigned n);
struct core_fixture *core_fixture_new_down(void **state, unsigned n);
int core_fixture_end(void **state);

/* The same as core_fixture_new(), with room for CORE_CALLS_LARGE calls. */
struct core_fixture *core_fixture_new_large(void **state, unsigned n);

/* The same as core_fixture_new(), where client 1 acquires, and has asked the masters. */
struct core_fixture *core_fixture_acquiring(void **state, unsigned n, uint32_t wait_ms);

/* ---- events ---------------------------------------------------------------------------------- */

void core_later_us(struct core_fixture *f, uint64_t us);
void core_give(struct core_fixture *f, struct fence_event event);

/* Ticks once, when the core wants it: the clock moves to its deadline. */
void core_tick(struct core_fixture *f);
bool core_is_due(const struct core_fixture *f); /* it wants a tick now */

/* The lock id that @client acquires with. Static; good until eight more were asked for. */
const char *core_lock_id(uint64_t client);

/* The call of @kind that @client makes about CORE_RESOURCE, with what a call of the kind names:
 * the lock id of the client, CORE_TTL_MS, CORE_TOKEN. */
struct fence_call core_call_of(enum fence_call_kind kind, uint64_t client);

void core_call(struct core_fixture *f, struct fence_call call);
void core_client_left(struct core_fixture *f, uint64_t client);
void core_acquire(struct core_fixture *f, uint64_t client, uint32_t wait_ms);
void core_acquire_ttl(struct core_fixture *f, uint64_t client, uint32_t ttl_ms);

/* Master @i replies to what it was asked last. */
void core_reply(struct core_fixture *f, unsigned i, struct fence_reply reply);
void core_reply_kind(struct core_fixture *f, unsigned i, enum fence_reply_kind kind);
void core_number(struct core_fixture *f, unsigned i, int64_t number);
void core_held(struct core_fixture *f, unsigned i, const char *holder, uint64_t remaining_ms);

/* Masters 0 and 1 answer @first and @second; both reply so; and both say that @holder has it. */
void core_numbers(struct core_fixture *f, int64_t first, int64_t second);
void core_both_reply(struct core_fixture *f, enum fence_reply_kind kind);
void core_both_held(struct core_fixture *f, const char *holder, uint64_t remaining_ms);

/* Two of three masters grant @number, which is answered; two say that another holds the lock for
 * @remaining_ms; each says something else. */
void core_grant(struct core_fixture *f, int64_t number);
void core_meet_holder(struct core_fixture *f, uint64_t remaining_ms);
void core_meet_contenders(struct core_fixture *f);

/* Master @i replies to the request with @tag, whatever it was asked since. */
void core_reply_to(struct core_fixture *f, unsigned i, uint64_t tag, struct fence_reply reply);

/* A master published that the holder of @lock_id released @resource. */
void core_tell_released(struct core_fixture *f, const char *resource, const char *lock_id);

/* The view that all masters know, with member @i admitted @admissions times more. */
struct fence_view core_view_after(unsigned i, unsigned admissions);

/* Master @i says in passing that it knows @view, to nothing that is under way. */
void core_hear(struct core_fixture *f, unsigned i, const struct fence_view *view);

void core_shake_hands(struct core_fixture *f, unsigned i, struct fence_facts facts);
void core_down(struct core_fixture *f, unsigned i);

/* ---- who is asked first ---------------------------------------------------------------------- */

/* The master in place @k of the order in which CORE_RESOURCE asks them, and the set of @count of
 * them from place @from on. */
unsigned core_nth(const struct core_fixture *f, unsigned k);
uint32_t core_nths(const struct core_fixture *f, unsigned from, unsigned count);

/* ---- effects of the last step ---------------------------------------------------------------- */

/* The set of masters that were sent a request of @kind, and the request sent to @i. */
uint32_t core_sent(const struct core_fixture *f, enum fence_request_kind kind);
const struct fence_request *core_request(const struct core_fixture *f, enum fence_request_kind kind,
                                         unsigned i);

/* The set of masters that got an effect of @kind. */
uint32_t core_effect(const struct core_fixture *f, enum fence_effect_kind kind);

/* The answer, of which there must be exactly one; and how many there are. */
const struct fence_answer *core_answer_of(const struct core_fixture *f);
unsigned core_answers(const struct core_fixture *f);

void assert_answer(const struct core_fixture *f, uint64_t client, int error);
void assert_no_effects(const struct core_fixture *f);

#endif
