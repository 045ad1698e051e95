#include "storage/guard/extension/claims.h"

#include "storage/guard/extension/api.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct claim {
    char *resource;
    int64_t token;
    uint64_t turn; /* turn of the last claim: the lowest is the oldest */
};

struct storage_claims {
    unsigned references;
    uint64_t turns;
    size_t count;
    struct claim list[STORAGE_CLAIMS_MAX];
};

struct storage_claims *storage_claims_new(void)
{
    struct storage_claims *claims = sqlite3_malloc64(sizeof *claims);
    if (!claims)
        return NULL;
    memset(claims, 0, sizeof *claims);
    claims->references = 1;
    return claims;
}

void storage_claims_ref(struct storage_claims *claims)
{
    claims->references++;
}

void storage_claims_clear(struct storage_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++) {
        sqlite3_free(claims->list[i].resource);
        claims->list[i].resource = NULL;
    }
    claims->count = 0;
}

void storage_claims_unref(void *claims)
{
    struct storage_claims *freed = claims;
    assert(freed->references > 0);
    if (--freed->references > 0)
        return;
    storage_claims_clear(freed);
    sqlite3_free(freed);
}

static const struct claim *find_claim(const struct storage_claims *claims, const char *resource)
{
    for (size_t i = 0; i < claims->count; i++)
        if (strcmp(claims->list[i].resource, resource) == 0)
            return &claims->list[i];
    return NULL;
}

static size_t index_of_oldest(const struct storage_claims *claims)
{
    size_t oldest = 0;
    for (size_t i = 1; i < claims->count; i++)
        if (claims->list[i].turn < claims->list[oldest].turn)
            oldest = i;
    return oldest;
}

int storage_claims_put(struct storage_claims *claims, const char *resource, int64_t token)
{
    const struct claim *known = find_claim(claims, resource);
    size_t index;
    if (known) {
        index = (size_t)(known - claims->list);
    } else {
        char *copy = sqlite3_mprintf("%s", resource);
        if (!copy)
            return FENCE_ENOMEM;
        index = claims->count < STORAGE_CLAIMS_MAX ? claims->count++ : index_of_oldest(claims);
        sqlite3_free(claims->list[index].resource);
        claims->list[index].resource = copy;
    }
    claims->list[index].token = token;
    claims->list[index].turn = ++claims->turns;
    return 0;
}

int64_t storage_claims_get(const struct storage_claims *claims, const char *resource)
{
    const struct claim *known = find_claim(claims, resource);
    return known ? known->token : 0;
}
