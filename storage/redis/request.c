#include "storage/redis/request.h"

#include "fence/protocol/decimal.h"

#include <assert.h>
#include <string.h>

enum {
    ATTEMPT_DIGITS = 16,
};

/* ---- RESP ------------------------------------------------------------------------------------ */

static size_t end_line(char *to)
{
    to[0] = '\r';
    to[1] = '\n';
    return 2;
}

size_t storage_resp_head(char *to, char kind, size_t number)
{
    to[0] = kind;
    size_t len = 1 + fence_decimal(number, to + 1);
    return len + end_line(to + len);
}

size_t storage_resp_bulk(char *to, const char *bytes, size_t len)
{
    size_t written = storage_resp_head(to, '$', len);
    memcpy(to + written, bytes, len);
    written += len;
    return written + end_line(to + written);
}

size_t storage_resp_number(char *to, uint64_t number)
{
    char digits[FENCE_DECIMAL_MAX];
    size_t len = fence_decimal(number, digits);
    return storage_resp_bulk(to, digits, len);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void add_bytes(struct storage_request *encoded, const char *bytes, size_t len)
{
    assert(encoded->args_len + len + FENCE_DECIMAL_MAX < sizeof(encoded->args_bytes));
    encoded->args_len =
        (uint16_t)(encoded->args_len +
                   storage_resp_bulk(encoded->args_bytes + encoded->args_len, bytes, len));
    encoded->args++;
}

static void add_text(struct storage_request *encoded, const char *text)
{
    add_bytes(encoded, text, strlen(text));
}

static void add_number(struct storage_request *encoded, uint64_t number)
{
    char digits[FENCE_DECIMAL_MAX];
    size_t len = fence_decimal(number, digits);
    add_bytes(encoded, digits, len);
}

/* "<lock id>.<attempt>" */
static void add_attempt(struct storage_request *encoded, const struct fence_request *request)
{
    char text[FENCE_LOCK_ID_MAX + 1 + ATTEMPT_DIGITS];
    size_t len = strlen(request->lock_id);
    assert(len <= FENCE_LOCK_ID_MAX);
    memcpy(text, request->lock_id, len);
    text[len++] = '.';
    for (unsigned shift = 64; shift > 0;)
        text[len++] = "0123456789abcdef"[request->attempt >> (shift -= 4) & 15];
    add_bytes(encoded, text, len);
}

/* The flags of a request, as letters. */
static void add_flags(struct storage_request *encoded, const struct fence_request *request)
{
    const bool takes = request->kind == FENCE_REQUEST_TAKE;
    char flags[4] = "";
    size_t len = 0;
    if (request->idempotent)
        flags[len++] = 'a';
    if (takes && request->take.waits)
        flags[len++] = 'w';
    if (takes && request->take.gated)
        flags[len++] = 'g';
    add_bytes(encoded, flags, len);
}

static void add_take(struct storage_request *encoded, const struct fence_request *request)
{
    assert(request->take.hint >= 0);
    bool plain = !request->idempotent && !request->take.waits;
    bool ordered = request->take.waits && request->take.ticket != FENCE_TICKET_NONE;
    add_text(encoded, ordered ? "W" : !plain ? "F" : request->take.hint > 0 ? "N" : "T");
    add_attempt(encoded, request);
    add_number(encoded, request->slot);
    add_number(encoded, request->ttl_ms);
    add_text(encoded, request->owner);
    if (!plain)
        add_flags(encoded, request);
    if (!plain || request->take.hint > 0)
        add_number(encoded, (uint64_t)request->take.hint);
    if (ordered)
        add_number(encoded, (uint64_t)request->take.ticket);
}

static void add_take_group(struct storage_request *encoded, const struct fence_request *request)
{
    const struct fence_group *group = request->group;
    assert(group->count >= 1 && group->count <= FENCE_GROUP_MAX);
    add_text(encoded, "G");
    add_number(encoded, group->count);
    add_flags(encoded, request);
    add_attempt(encoded, request);
    add_number(encoded, request->ttl_ms);
    add_text(encoded, request->owner);
    for (unsigned k = 0; k < group->count; k++) {
        add_number(encoded, group->locks[k].slot);
        add_number(encoded, (uint64_t)group->locks[k].hint);
    }
}

static void add_confirm(struct storage_request *encoded, const struct fence_request *request)
{
    add_text(encoded, "C");
    add_attempt(encoded, request);
    add_number(encoded, request->slot);
    add_number(encoded, (uint64_t)request->token);
    add_flags(encoded, request);
}

static void add_confirm_group(struct storage_request *encoded, const struct fence_request *request)
{
    const struct fence_group *group = request->group;
    assert(group->count >= 1 && group->count <= FENCE_GROUP_MAX);
    add_text(encoded, "H");
    add_number(encoded, group->count);
    add_flags(encoded, request);
    add_attempt(encoded, request);
    for (unsigned k = 0; k < group->count; k++) {
        add_number(encoded, group->locks[k].slot);
        add_number(encoded, (uint64_t)group->locks[k].token);
    }
}

/* An extension, by lock id or by the tag of a round that joins. The arguments that extensions of
 * one call share come first. */
static void add_extend(struct storage_request *encoded, const struct fence_request *request)
{
    bool joins = request->kind == FENCE_REQUEST_JOIN;
    assert(!joins ||
           (request->extend.extended >= 1 && request->extend.extended <= FENCE_EXTENSIONS_CEILING));
    add_text(encoded, joins ? "J" : "E");
    if (joins)
        add_attempt(encoded, request);
    else
        add_text(encoded, request->lock_id);
    add_number(encoded, request->ttl_ms);
    add_number(encoded, request->extend.extensions_max);
    if (!joins)
        encoded->shared_len = encoded->args_len;
    add_number(encoded, (uint64_t)request->token);
    add_number(encoded, request->slot);
    if (!joins)
        return;
    add_number(encoded, request->extend.extended);
    add_text(encoded, request->owner);
}

static void add_release(struct storage_request *encoded, const struct fence_request *request)
{
    static const char *const letters[][2] = {{"R", "S"}, {"L", "M"}}; /* the second with @covers */
    const bool keeps = request->release.keep_ms > 0;
    add_text(encoded, letters[keeps][request->release.covers]);
    add_text(encoded, request->lock_id);
    if (!keeps)
        return;
    add_number(encoded, request->slot);
    add_number(encoded, request->release.keep_ms);
}

static void add_arguments(struct storage_request *encoded, const struct fence_request *request)
{
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        (request->group ? add_take_group : add_take)(encoded, request);
        break;
    case FENCE_REQUEST_CONFIRM:
        (request->group ? add_confirm_group : add_confirm)(encoded, request);
        break;
    case FENCE_REQUEST_EXTEND:
    case FENCE_REQUEST_JOIN:
        add_extend(encoded, request);
        break;
    case FENCE_REQUEST_RELEASE:
        add_release(encoded, request);
        break;
    case FENCE_REQUEST_UNDO:
        add_text(encoded, request->group ? "V" : "U");
        if (request->group)
            add_number(encoded, request->group->count);
        add_attempt(encoded, request);
        break;
    case FENCE_REQUEST_INSPECT:
        add_text(encoded, "I");
        break;
    case FENCE_REQUEST_COUNT:
        assert(request->counter.hint >= 0);
        add_text(encoded, "K");
        add_number(encoded, request->counter.values);
        add_number(encoded, (uint64_t)request->counter.hint);
        add_number(encoded, request->counter.names_max);
        break;
    case FENCE_REQUEST_BREAK:
        add_text(encoded, "B");
        add_text(encoded, request->lock_id);
        add_number(encoded, (uint64_t)request->token);
        add_number(encoded, request->slot);
        add_number(encoded, request->ttl_ms);
        add_text(encoded, request->owner);
        break;
    }
}

static void add_key(struct storage_request *encoded, const char *resource)
{
    static const char prefix[] = STORAGE_LOCK_KEY;
    char key[sizeof(prefix) + FENCE_RESOURCE_MAX];
    size_t prefix_len = sizeof(prefix) - 1;
    size_t len = strlen(resource);
    assert(len <= FENCE_RESOURCE_MAX);
    memcpy(key, prefix, prefix_len);
    memcpy(key + prefix_len, resource, len + 1);
    encoded->keys_len =
        (uint16_t)(encoded->keys_len + storage_resp_bulk(encoded->keys_bytes + encoded->keys_len,
                                                         key, prefix_len + len));
    encoded->locks++;
}

void storage_request_encode(const struct fence_request *request,
                            struct storage_request *ret_encoded)
{
    const struct fence_group *group = request->group;
    assert(request->token >= 0);
    ret_encoded->tag = request->tag;
    ret_encoded->kind = request->kind;
    ret_encoded->in_group = group != NULL;
    ret_encoded->locks = 0;
    ret_encoded->keys_len = 0;
    ret_encoded->args = 0;
    ret_encoded->args_len = 0;
    ret_encoded->shared_len = 0;
    if (!group)
        add_key(ret_encoded, request->resource);
    for (unsigned k = 0; group && k < group->count; k++)
        add_key(ret_encoded, group->locks[k].resource);
    add_arguments(ret_encoded, request);
}
