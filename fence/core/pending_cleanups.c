#include "fence/core/pending_cleanups.h"

#include <assert.h>
#include <stdlib.h>

enum {
    LOOKED_AT_A_TIME = 64, /* slots that one step of the round passes over at most */
};

int fence_debts_init(struct fence_debts *debts, uint32_t capacity)
{
    assert(capacity > 0);
    *debts = (struct fence_debts){.capacity = capacity};
    debts->debts = calloc(capacity, sizeof(*debts->debts));
    if (!debts->debts)
        return FENCE_ENOMEM;
    for (uint32_t i = 0; i < capacity; i++)
        debts->debts[i].next_free = i + 1 < capacity ? i + 1 : FENCE_NO_DEBT;
    return 0;
}

void fence_debts_fini(struct fence_debts *debts)
{
    free(debts->debts);
    *debts = (struct fence_debts){0};
}

static void close_debt(struct fence_debts *debts, struct fence_debt *debt)
{
    debt->serial = 0;
    debt->next_free = debts->free;
    debts->free = (uint32_t)(debt - debts->debts);
    debts->open--;
}

/* Masters that never come back must not fill the table for good. */
static void reclaim_expired(struct fence_debts *debts, uint64_t now_us)
{
    for (unsigned looked = 0; looked < LOOKED_AT_A_TIME; looked++) {
        debts->reclaim = (debts->reclaim + 1) % debts->capacity;
        struct fence_debt *debt = &debts->debts[debts->reclaim];
        if (debt->serial != 0 && now_us >= debt->expires_us)
            close_debt(debts, debt);
    }
}

uint32_t fence_debts_open(struct fence_debts *debts, const struct fence_debt *debt, uint64_t now_us)
{
    assert(debt->owed != 0 && (debt->told & ~debt->owed) == 0);
    if (debts->free == FENCE_NO_DEBT)
        reclaim_expired(debts, now_us);
    uint32_t index = debts->free;
    if (index == FENCE_NO_DEBT)
        return FENCE_NO_DEBT;
    struct fence_debt *opened = &debts->debts[index];
    debts->free = opened->next_free;
    debts->open++;
    *opened = *debt;
    opened->serial = ++debts->serials;
    opened->next_of_group = FENCE_NO_DEBT;
    return index;
}

void fence_debts_join(struct fence_debts *debts, uint32_t before, uint32_t index)
{
    assert(debts->debts[index].serial == debts->debts[before].serial + 1);
    debts->debts[before].next_of_group = index;
}

static struct fence_debt *find_debt(const struct fence_debts *debts, uint32_t index,
                                    uint64_t serial)
{
    if (index >= debts->capacity || serial == 0 || debts->debts[index].serial != serial)
        return NULL;
    return &debts->debts[index];
}

static void settle(struct fence_debts *debts, struct fence_debt *debt, uint32_t master)
{
    debt->owed &= ~master;
    debt->told &= debt->owed;
    if (debt->owed == 0)
        close_debt(debts, debt);
}

/* The next of those that master @i was told of with one request: a group's, the first time. */
static uint32_t next_told(const struct fence_debt *debt, unsigned i)
{
    return debt->alone >> i & 1 ? FENCE_NO_DEBT : debt->next_of_group;
}

/* Those of one group have consecutive serials. */
void fence_debts_settle(struct fence_debts *debts, uint32_t index, uint64_t serial, unsigned i)
{
    for (struct fence_debt *debt; (debt = find_debt(debts, index, serial)); serial++) {
        index = next_told(debt, i);
        settle(debts, debt, UINT32_C(1) << i);
    }
}

void fence_debts_lose(struct fence_debts *debts, uint32_t index, uint64_t serial, unsigned i)
{
    for (struct fence_debt *debt; (debt = find_debt(debts, index, serial)); serial++) {
        index = next_told(debt, i);
        debt->told &= ~(UINT32_C(1) << i);
    }
}

void fence_debts_tell_again(struct fence_debts *debts)
{
    debts->cursor = 0;
    debts->telling = debts->open > 0;
}

struct fence_debt *fence_debts_next(struct fence_debts *debts, uint32_t active, uint64_t now_us,
                                    uint32_t *ret_set)
{
    assert(debts->telling);
    for (unsigned looked = 0; looked < LOOKED_AT_A_TIME; looked++) {
        if (debts->cursor == debts->capacity || debts->open == 0) {
            debts->telling = false;
            return NULL;
        }
        struct fence_debt *debt = &debts->debts[debts->cursor++];
        if (debt->serial == 0)
            continue;
        uint32_t set = debt->owed & ~debt->told & active;
        if (now_us >= debt->expires_us) {
            close_debt(debts, debt);
        } else if (set != 0) {
            debt->told |= set;
            debt->alone |= set;
            *ret_set = set;
            return debt;
        }
    }
    return NULL;
}
