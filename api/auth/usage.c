#include "api/auth/usage.h"

#include "fence/protocol/limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

enum {
    LISTS = 256,    /* lists of held locks, by their hash */
    CALL = 1000000, /* one call in a bucket: as much as one call a second adds in so many
                     * microseconds */
};

struct held_lock {
    struct held_lock *next;
    struct api_usage_mark mark;
    uint64_t until_us;
    uint64_t seats; /* a writer's seats, as bits; 0: one lock */
};

struct api_usage {
    pthread_mutex_t mutex;
    unsigned refs;
    bool begun;     /* the bucket was used before */
    uint64_t level; /* level of the bucket; CALL is one call */
    uint64_t owed;  /* debt of calls that took more than the level */
    uint64_t level_at_us;
    unsigned reserved;
    unsigned held;
    uint64_t first_end_us;   /* no lease of a held lock ends before it */
    struct held_lock *spare; /* as many as are reserved */
    struct held_lock *lists[LISTS];
};

int api_usage_new(struct api_usage **ret_usage)
{
    struct api_usage *usage = calloc(1, sizeof(*usage));
    if (usage == NULL)
        return FENCE_ENOMEM;
    int failed = pthread_mutex_init(&usage->mutex, NULL);
    assert(!failed); /* without attributes it only fills in memory */
    usage->refs = 1;
    usage->first_end_us = UINT64_MAX;
    *ret_usage = usage;
    return 0;
}

static void lock_usage(struct api_usage *usage)
{
    int failed = pthread_mutex_lock(&usage->mutex);
    assert(!failed);
}

static void unlock_usage(struct api_usage *usage)
{
    int failed = pthread_mutex_unlock(&usage->mutex);
    assert(!failed);
}

struct api_usage *api_usage_ref(struct api_usage *usage)
{
    lock_usage(usage);
    assert(usage->refs > 0);
    usage->refs++;
    unlock_usage(usage);
    return usage;
}

static void free_list(struct held_lock *list)
{
    while (list != NULL) {
        struct held_lock *next = list->next;
        free(list);
        list = next;
    }
}

void api_usage_unref(struct api_usage *usage)
{
    if (usage == NULL)
        return;
    lock_usage(usage);
    assert(usage->refs > 0);
    const bool last = --usage->refs == 0;
    unlock_usage(usage);
    if (!last)
        return;
    assert(usage->reserved == 0); /* each caller has a reference to its key */
    for (unsigned i = 0; i < LISTS; i++)
        free_list(usage->lists[i]);
    free_list(usage->spare);
    (void)pthread_mutex_destroy(&usage->mutex);
    free(usage);
}

/* ---- the rate -------------------------------------------------------------------------------- */

/* Brings the bucket up to @now_us: the debt is paid first. The multiplication is bounded by the
 * time to fill the bucket. */
static void fill_bucket(struct api_usage *usage, uint32_t rate, uint64_t full, uint64_t now_us)
{
    const uint64_t past_us = now_us > usage->level_at_us ? now_us - usage->level_at_us : 0;
    if (!usage->begun || usage->level > full ||
        past_us > (full - usage->level + usage->owed) / rate) {
        usage->level = full;
        usage->owed = 0;
    } else {
        const uint64_t got = past_us * rate;
        const uint64_t paid = got < usage->owed ? got : usage->owed;
        usage->owed -= paid;
        usage->level += got - paid;
    }
    assert(usage->level <= full && (usage->owed == 0 || usage->level < full));
    usage->level_at_us = now_us > usage->level_at_us ? now_us : usage->level_at_us;
    usage->begun = true;
}

bool api_usage_take(struct api_usage *usage, uint32_t rate, uint32_t burst, unsigned calls,
                    uint64_t now_us, uint64_t *ret_wait_us)
{
    const uint64_t wanted = (uint64_t)calls * CALL;
    assert(rate > 0 && burst > 0 && calls > 0);
    lock_usage(usage);
    fill_bucket(usage, rate, (uint64_t)burst * CALL, now_us);
    const bool has = usage->level >= CALL && usage->owed == 0;
    const uint64_t lacks = has ? 0 : CALL + usage->owed - usage->level;
    if (has) {
        usage->owed = wanted > usage->level ? wanted - usage->level : 0;
        usage->level -= wanted - usage->owed;
    }
    unlock_usage(usage);
    if (!has)
        *ret_wait_us = (lacks + rate - 1) / rate;
    return has;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static unsigned char mark_key[crypto_shorthash_siphashx24_KEYBYTES];

static void make_mark_key(void)
{
    randombytes_buf(mark_key, sizeof(mark_key));
}

struct api_usage_mark api_usage_mark(const char *lock_id, const char *resource)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[FENCE_LOCK_ID_MAX + 1 + FENCE_RESOURCE_MAX + 1];
    struct api_usage_mark mark;
    (void)pthread_once(&once, make_mark_key);
    const int len = snprintf(text, sizeof(text), "%s %s", lock_id, resource); /* no id has blanks */
    assert(len > 0 && (size_t)len < sizeof(text));
    unsigned char bytes[crypto_shorthash_siphashx24_BYTES];
    (void)crypto_shorthash_siphashx24(bytes, (const unsigned char *)text, (unsigned)len, mark_key);
    static_assert(sizeof(bytes) == sizeof(mark.word), "a mark is the whole hash");
    memcpy(mark.word, bytes, sizeof(mark.word));
    return mark;
}

static bool is_same_mark(struct api_usage_mark a, struct api_usage_mark b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

/* Returns the link to the lock of @mark; without such a lock, the link at which to add it. */
static struct held_lock **link_of(struct api_usage *usage, struct api_usage_mark mark)
{
    struct held_lock **link = &usage->lists[mark.word[0] % LISTS];
    while (*link != NULL && !is_same_mark((*link)->mark, mark))
        link = &(*link)->next;
    return link;
}

static void note_end(struct api_usage *usage, uint64_t until_us)
{
    if (until_us < usage->first_end_us)
        usage->first_end_us = until_us;
}

/* Removes the locks whose leases have ended, and returns them as a list. */
static struct held_lock *take_over(struct api_usage *usage, uint64_t now_us)
{
    struct held_lock *over = NULL;
    usage->first_end_us = UINT64_MAX;
    for (unsigned i = 0; i < LISTS; i++) {
        struct held_lock **link = &usage->lists[i];
        while (*link != NULL) {
            struct held_lock *lock = *link;
            if (lock->until_us > now_us) {
                note_end(usage, lock->until_us);
                link = &lock->next;
                continue;
            }
            *link = lock->next;
            lock->next = over;
            over = lock;
            assert(usage->held > 0);
            usage->held--;
        }
    }
    return over;
}

static struct held_lock *make_spares(unsigned count)
{
    struct held_lock *list = NULL;
    for (unsigned i = 0; i < count; i++) {
        struct held_lock *spare = malloc(sizeof(*spare));
        if (spare == NULL) {
            free_list(list);
            return NULL;
        }
        spare->next = list;
        list = spare;
    }
    return list;
}

static void add_spares(struct api_usage *usage, struct held_lock *list)
{
    struct held_lock **end = &list;
    while (*end != NULL)
        end = &(*end)->next;
    *end = usage->spare;
    usage->spare = list;
}

/* Returns how many of @marks are already held. */
static unsigned count_held(struct api_usage *usage, const struct api_usage_mark marks[],
                           unsigned count, uint64_t now_us)
{
    unsigned held = 0;
    for (unsigned i = 0; i < count && marks != NULL; i++) {
        const struct held_lock *lock = *link_of(usage, marks[i]);
        held += lock != NULL && lock->until_us > now_us;
    }
    return held;
}

/* The locks that a call asks for: @count. Its held locks have these marks, at most @count. */
struct wanted {
    unsigned count;
    const struct api_usage_mark *marks;
    unsigned marks_count;
};

static unsigned count_more(struct api_usage *usage, const struct wanted *wanted, uint64_t now_us)
{
    const unsigned held = count_held(usage, wanted->marks, wanted->marks_count, now_us);
    return wanted->count - (held < wanted->count ? held : wanted->count);
}

/* Looks at all leases only if one of them has ended: so a refusal costs little. */
static int reserve(struct api_usage *usage, const struct wanted *wanted, uint32_t cap,
                   uint64_t now_us, unsigned *ret_held)
{
    const unsigned count = wanted->count;
    assert(count > 0 && cap > 0);
    struct held_lock *spares = make_spares(count);
    struct held_lock *over = NULL;
    if (spares == NULL)
        return FENCE_ENOMEM;
    lock_usage(usage);
    if (usage->held + usage->reserved + count > cap && now_us >= usage->first_end_us)
        over = take_over(usage, now_us);
    const unsigned has = usage->held + usage->reserved;
    const bool fits = has + count_more(usage, wanted, now_us) <= cap;
    if (fits) {
        usage->reserved += count;
        add_spares(usage, spares);
        spares = NULL;
    }
    unlock_usage(usage);
    free_list(over);
    free_list(spares);
    if (!fits && ret_held != NULL)
        *ret_held = has;
    return fits ? 0 : FENCE_EBUSY;
}

int api_usage_reserve(struct api_usage *usage, const struct api_usage_mark marks[], unsigned count,
                      uint32_t cap, uint64_t now_us, unsigned *ret_held)
{
    const struct wanted wanted = {count, marks, count};
    return reserve(usage, &wanted, cap, now_us, ret_held);
}

int api_usage_reserve_one_of(struct api_usage *usage, const struct api_usage_mark marks[],
                             unsigned count, uint32_t cap, uint64_t now_us, unsigned *ret_held)
{
    const struct wanted wanted = {1, marks, count};
    assert(count > 0);
    return reserve(usage, &wanted, cap, now_us, ret_held);
}

static struct held_lock *use_spare(struct api_usage *usage)
{
    struct held_lock *spare = usage->spare;
    assert(spare != NULL && usage->reserved > 0);
    usage->spare = spare->next;
    usage->reserved--;
    spare->next = NULL;
    return spare;
}

void api_usage_cancel(struct api_usage *usage, unsigned count)
{
    struct held_lock *list = NULL;
    lock_usage(usage);
    for (unsigned i = 0; i < count; i++) {
        struct held_lock *spare = use_spare(usage);
        spare->next = list;
        list = spare;
    }
    unlock_usage(usage);
    free_list(list);
}

/* Masters never shorten a lease. */
static void lengthen_lease(struct api_usage *usage, struct held_lock *lock, uint64_t until_us)
{
    if (lock->until_us < until_us)
        lock->until_us = until_us;
    note_end(usage, lock->until_us);
}

void api_usage_grant(struct api_usage *usage, struct api_usage_mark mark, uint64_t seats,
                     uint64_t until_us)
{
    lock_usage(usage);
    struct held_lock *spare = use_spare(usage);
    struct held_lock **place = link_of(usage, mark);
    if (*place == NULL) {
        spare->mark = mark;
        spare->until_us = 0;
        *place = spare;
        spare = NULL;
        usage->held++;
    }
    (*place)->seats = seats;
    lengthen_lease(usage, *place, until_us);
    unlock_usage(usage);
    free(spare);
}

void api_usage_extend(struct api_usage *usage, struct api_usage_mark mark, uint64_t until_us)
{
    lock_usage(usage);
    struct held_lock *lock = *link_of(usage, mark);
    if (lock != NULL)
        lengthen_lease(usage, lock, until_us);
    unlock_usage(usage);
}

/* Releases the lock at @place as a whole or in part, if there is one. Returns the lock to free. */
static struct held_lock *take_released(struct api_usage *usage, struct held_lock **place,
                                       uint64_t seats)
{
    struct held_lock *lock = *place;
    if (lock == NULL)
        return NULL;
    lock->seats &= ~seats;
    if (lock->seats != 0)
        return NULL;
    *place = lock->next;
    assert(usage->held > 0);
    usage->held--;
    return lock;
}

void api_usage_release(struct api_usage *usage, struct api_usage_mark mark, uint64_t seats)
{
    lock_usage(usage);
    struct held_lock *lock = take_released(usage, link_of(usage, mark), seats);
    unlock_usage(usage);
    free(lock);
}

void api_usage_keep(struct api_usage *usage, struct api_usage_mark mark, uint64_t until_us)
{
    lock_usage(usage);
    struct held_lock *lock = *link_of(usage, mark);
    if (lock != NULL && lock->until_us > until_us)
        lock->until_us = until_us;
    if (lock != NULL)
        note_end(usage, lock->until_us);
    unlock_usage(usage);
}

unsigned api_usage_held(struct api_usage *usage, uint64_t now_us)
{
    lock_usage(usage);
    struct held_lock *over = now_us >= usage->first_end_us ? take_over(usage, now_us) : NULL;
    const unsigned has = usage->held + usage->reserved;
    unlock_usage(usage);
    free_list(over);
    return has;
}
