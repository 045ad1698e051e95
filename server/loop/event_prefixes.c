#include "server/loop/event_prefixes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HASH_OF_NONE UINT64_C(0xcbf29ce484222325)

/* FNV-1a: the hash of a prefix follows from the hash of the prefix that is one byte shorter. */
static uint64_t hash_more(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3);
}

static struct server_event_prefix **chain_of(struct server_event_prefixes *prefixes, uint64_t hash)
{
    return &prefixes->chains[(hash >> 32) & (SERVER_EVENT_CHAINS - 1)];
}

static struct server_event_prefix *find_prefix(struct server_event_prefixes *prefixes,
                                               uint64_t hash, const char *text, size_t len)
{
    struct server_event_prefix *prefix = *chain_of(prefixes, hash);
    while (prefix &&
           (prefix->hash != hash || prefix->len != len || memcmp(prefix->text, text, len) != 0))
        prefix = prefix->next;
    return prefix;
}

static struct server_event_prefix *make_prefix(struct server_event_prefixes *prefixes,
                                               uint64_t hash, const char *text, size_t len)
{
    struct server_event_prefix *prefix = calloc(1, sizeof(*prefix) + len + 1); /* terminated */
    struct server_event_prefix **chain = chain_of(prefixes, hash);
    if (!prefix)
        return NULL;
    prefix->hash = hash;
    prefix->len = len;
    memcpy(prefix->text, text, len);
    prefix->next = *chain;
    *chain = prefix;
    prefixes->of_length[len]++;
    return prefix;
}

struct server_event_prefix *server_event_prefixes_join(struct server_event_prefixes *prefixes,
                                                       const char *text, uint64_t last)
{
    const size_t len = strlen(text);
    uint64_t hash = HASH_OF_NONE;
    assert(len <= FENCE_RESOURCE_MAX);
    for (size_t i = 0; i < len; i++)
        hash = hash_more(hash, text[i]);
    struct server_event_prefix *prefix = find_prefix(prefixes, hash, text, len);
    if (!prefix)
        prefix = make_prefix(prefixes, hash, text, len);
    if (!prefix)
        return NULL;
    prefix->readers++;
    if (prefix->last < last)
        prefix->last = last;
    return prefix;
}

void server_event_prefixes_leave(struct server_event_prefixes *prefixes,
                                 struct server_event_prefix *prefix)
{
    assert(prefix->readers > 0);
    if (--prefix->readers > 0)
        return;
    struct server_event_prefix **link = chain_of(prefixes, prefix->hash);
    while (*link != prefix)
        link = &(*link)->next;
    *link = prefix->next;
    assert(prefixes->of_length[prefix->len] > 0);
    prefixes->of_length[prefix->len]--;
    free(prefix);
}

void server_event_prefixes_note(struct server_event_prefixes *prefixes, const char *name,
                                size_t len, uint64_t number)
{
    uint64_t hash = HASH_OF_NONE;
    assert(len <= FENCE_RESOURCE_MAX);
    for (size_t i = 0; i <= len; i++) {
        struct server_event_prefix *prefix =
            prefixes->of_length[i] > 0 ? find_prefix(prefixes, hash, name, i) : NULL;
        if (prefix)
            prefix->last = number;
        if (i < len)
            hash = hash_more(hash, name[i]);
    }
}

void server_event_prefixes_note_all(struct server_event_prefixes *prefixes, uint64_t number)
{
    for (unsigned i = 0; i < SERVER_EVENT_CHAINS; i++)
        for (struct server_event_prefix *each = prefixes->chains[i]; each; each = each->next)
            each->last = number;
}
