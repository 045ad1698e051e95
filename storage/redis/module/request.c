#include "storage/redis/module/request.h"

#include "fence/protocol/decimal.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
#include "storage/redis/module/value.h"

#include <assert.h>
#include <string.h>

enum {
    ATTEMPT_LEN = 16, /* digits of an attempt */
    LENGTH_MAX = 5,   /* digits of the length of an argument */
};

/* ---- arguments ------------------------------------------------------------------------------- */

/* "$<length>\r\n<bytes>\r\n" */
static bool next(struct storage_module_reader *reader, struct storage_module_bytes *ret_bytes)
{
    uint64_t len = 0;
    assert(reader->at <= reader->end);
    const size_t left = (size_t)(reader->end - reader->at);
    if (left == 0 || *reader->at != '$')
        return false;
    const char *digits = reader->at + 1;
    const char *line_end =
        memchr(digits, '\r', left - 1 < LENGTH_MAX + 1 ? left - 1 : LENGTH_MAX + 1);
    if (!line_end || !fence_decimal_read(digits, (size_t)(line_end - digits), left, &len))
        return false;
    const char *bytes = line_end + 2;
    if ((size_t)(reader->end - line_end) < len + 4 || line_end[1] != '\n' ||
        memcmp(bytes + len, "\r\n", 2) != 0)
        return false;
    *ret_bytes = (struct storage_module_bytes){bytes, len};
    reader->at = bytes + len + 2;
    return true;
}

static bool next_number(struct storage_module_reader *reader, uint64_t least, uint64_t most,
                        uint64_t *ret_number)
{
    assert(least <= most);
    struct storage_module_bytes bytes;
    return next(reader, &bytes) && fence_decimal_read(bytes.at, bytes.len, most, ret_number) &&
           *ret_number >= least;
}

static bool next_token(struct storage_module_reader *reader, int64_t *ret_token)
{
    uint64_t number = 0;
    if (!next_number(reader, 0, FENCE_TOKEN_MAX, &number))
        return false;
    *ret_token = (int64_t)number;
    return true;
}

static bool next_u32(struct storage_module_reader *reader, uint32_t least, uint32_t most,
                     uint32_t *ret_number)
{
    assert(least <= most && ret_number);
    uint64_t number = 0;
    if (!next_number(reader, least, most, &number))
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

static bool next_slot(struct storage_module_reader *reader, uint16_t *ret_slot)
{
    uint64_t number = 0;
    if (!next_number(reader, 0, FENCE_SLOTS - 1, &number))
        return false;
    *ret_slot = (uint16_t)number;
    return true;
}

static bool next_ttl(struct storage_module_reader *reader, struct fence_request *request)
{
    return next_u32(reader, 1, FENCE_TTL_CEILING_MS, &request->ttl_ms);
}

static bool next_owner(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct storage_module_bytes owner;
    if (!next(reader, &owner) || !fence_owner_valid(owner.at, owner.len))
        return false;
    assert(owner.len <= FENCE_OWNER_MAX);
    memcpy(read->owner, owner.at, owner.len);
    read->owner[owner.len] = '\0';
    return true;
}

static bool keep_lock_id(struct storage_module_request *read, const char *id, size_t len)
{
    if (!fence_lock_id_valid(id, len))
        return false;
    assert(len <= FENCE_LOCK_ID_MAX);
    memcpy(read->lock_id, id, len);
    read->lock_id[len] = '\0';
    return true;
}

static bool next_lock_id(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct storage_module_bytes id;
    return next(reader, &id) && keep_lock_id(read, id.at, id.len);
}

/* "<lock id>.<attempt>" */
static bool next_tag(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct storage_module_bytes tag;
    if (!next(reader, &tag) || tag.len <= ATTEMPT_LEN + 1)
        return false;
    const size_t id_len = tag.len - ATTEMPT_LEN - 1;
    return tag.at[id_len] == '.' && keep_lock_id(read, tag.at, id_len) &&
           storage_module_attempt_read(tag.at + id_len + 1, ATTEMPT_LEN, &read->request.attempt);
}

static bool *flag_of(struct fence_request *request, char letter)
{
    switch (letter) {
    case 'a':
        return &request->idempotent;
    case 'w':
        return &request->take.waits;
    case 'g':
        return request->group && request->group->count == 2 ? &request->take.gated : NULL;
    default:
        return NULL;
    }
}

/* 'a': may be an idempotent retry. 'w': the call waits where the lock is held. 'g': the second of
 * two locks is a gate. */
static bool next_flags(struct storage_module_reader *reader, struct fence_request *request)
{
    struct storage_module_bytes flags;
    if (!next(reader, &flags) || flags.len > 3)
        return false;
    for (size_t i = 0; i < flags.len; i++) {
        bool *flag = flag_of(request, flags.at[i]);
        if (!flag || *flag)
            return false;
        *flag = true;
    }
    return true;
}

/* The name of the lock whose key comes next. */
static bool next_resource(struct storage_module_reader *reader,
                          char ret_resource[static FENCE_RESOURCE_MAX + 1])
{
    static const char prefix[] = FENCE_LOCK_KEY;
    const size_t prefix_len = sizeof(prefix) - 1;
    if (reader->keys_left == 0)
        return false;
    const struct storage_module_bytes key = *reader->keys++;
    reader->keys_left--;
    if (key.len <= prefix_len || key.len - prefix_len > FENCE_RESOURCE_MAX ||
        memcmp(key.at, prefix, prefix_len) != 0 || memchr(key.at, '\0', key.len))
        return false;
    memcpy(ret_resource, key.at + prefix_len, key.len - prefix_len);
    ret_resource[key.len - prefix_len] = '\0';
    return true;
}

/* ---- a kind each ----------------------------------------------------------------------------- */

static bool read_take(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    const bool ordered = read->letter == 'W';
    request->kind = FENCE_REQUEST_TAKE;
    request->take.ticket = FENCE_TICKET_NONE;
    return next_tag(reader, read) && next_slot(reader, &request->slot) &&
           next_ttl(reader, request) && next_owner(reader, read) &&
           ((read->letter != 'F' && !ordered) || next_flags(reader, request)) &&
           (read->letter == 'T' || next_token(reader, &request->take.hint)) &&
           (!ordered || (next_token(reader, &request->take.ticket) && request->take.waits));
}

/* How many locks a group has, and the keys of all of them. */
static bool next_group(struct storage_module_reader *reader, struct storage_module_request *read)
{
    uint32_t count = 0;
    if (!next_u32(reader, 1, FENCE_GROUP_MAX, &count))
        return false;
    read->group.count = read->locks = count;
    read->request.group = &read->group;
    for (unsigned k = 0; k < count; k++)
        if (!next_resource(reader, read->group.locks[k].resource))
            return false;
    return true;
}

static bool read_take_group(struct storage_module_reader *reader,
                            struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    request->kind = FENCE_REQUEST_TAKE;
    if (!next_group(reader, read) || !next_flags(reader, request) || !next_tag(reader, read) ||
        !next_ttl(reader, request) || !next_owner(reader, read))
        return false;
    for (unsigned k = 0; k < read->locks; k++) {
        struct fence_group_lock *lock = &read->group.locks[k];
        if (!next_slot(reader, &lock->slot) || !next_token(reader, &lock->hint))
            return false;
    }
    return true;
}

static bool read_confirm(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    request->kind = FENCE_REQUEST_CONFIRM;
    return next_tag(reader, read) && next_slot(reader, &request->slot) &&
           next_token(reader, &request->token) && next_flags(reader, request);
}

static bool read_confirm_group(struct storage_module_reader *reader,
                               struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    request->kind = FENCE_REQUEST_CONFIRM;
    if (!next_group(reader, read) || !next_flags(reader, request) || !next_tag(reader, read))
        return false;
    for (unsigned k = 0; k < read->locks; k++) {
        struct fence_group_lock *lock = &read->group.locks[k];
        if (!next_slot(reader, &lock->slot) || !next_token(reader, &lock->token))
            return false;
    }
    return true;
}

static bool next_terms(struct storage_module_reader *reader, struct fence_request *request)
{
    return next_ttl(reader, request) &&
           next_u32(reader, 0, UINT32_MAX, &request->extend.extensions_max);
}

static bool next_grant(struct storage_module_reader *reader, struct fence_request *request)
{
    return next_token(reader, &request->token) && next_slot(reader, &request->slot);
}

static bool read_extend(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    struct storage_module_bytes id;
    request->kind = FENCE_REQUEST_EXTEND;
    if (!next(reader, &id) || !keep_lock_id(read, id.at, id.len) || !next_terms(reader, request))
        return false;
    reader->extension =
        (struct storage_module_extension){id, request->ttl_ms, request->extend.extensions_max};
    return next_grant(reader, request);
}

/* STORAGE_ALSO */
static bool read_extend_also(struct storage_module_reader *reader,
                             struct storage_module_request *read)
{
    const struct storage_module_extension *last = &reader->extension;
    struct fence_request *request = &read->request;
    request->kind = FENCE_REQUEST_EXTEND;
    request->ttl_ms = last->ttl_ms;
    request->extend.extensions_max = last->cap;
    return last->lock_id.len > 0 && keep_lock_id(read, last->lock_id.at, last->lock_id.len) &&
           next_grant(reader, request);
}

static bool read_join(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    request->kind = FENCE_REQUEST_JOIN;
    return next_tag(reader, read) && next_terms(reader, request) && next_grant(reader, request) &&
           next_u32(reader, 1, FENCE_EXTENSIONS_CEILING, &request->extend.extended) &&
           next_owner(reader, read);
}

static bool read_release(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    const bool keeps = read->letter == 'L' || read->letter == 'M';
    request->kind = FENCE_REQUEST_RELEASE;
    request->release.covers = read->letter == 'S' || read->letter == 'M';
    return next_lock_id(reader, read) &&
           (!keeps || (next_slot(reader, &request->slot) &&
                       next_u32(reader, 1, FENCE_TTL_CEILING_MS, &request->release.keep_ms)));
}

static bool read_undo(struct storage_module_reader *reader, struct storage_module_request *read)
{
    read->request.kind = FENCE_REQUEST_UNDO;
    return (read->letter == 'U' || next_group(reader, read)) && next_tag(reader, read);
}

static bool read_inspect(struct storage_module_reader *reader, struct storage_module_request *read)
{
    (void)reader;
    read->request.kind = FENCE_REQUEST_INSPECT;
    return true;
}

static bool read_count(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    request->kind = FENCE_REQUEST_COUNT;
    if (!next_u32(reader, 0, UINT32_MAX, &request->counter.values) ||
        !next_token(reader, &request->counter.hint) ||
        !next_u32(reader, 0, UINT32_MAX, &request->counter.names_max))
        return false;
    read->counted = request->counter.values != 0 || request->counter.hint != 0;
    return true;
}

static bool read_break(struct storage_module_reader *reader, struct storage_module_request *read)
{
    struct fence_request *request = &read->request;
    request->kind = FENCE_REQUEST_BREAK;
    return next_lock_id(reader, read) && next_token(reader, &request->token) &&
           next_slot(reader, &request->slot) && next_ttl(reader, request) &&
           next_owner(reader, read);
}

/* ---- all ------------------------------------------------------------------------------------- */

typedef bool read_fn(struct storage_module_reader *reader, struct storage_module_request *read);

static const struct {
    char letter;
    bool groups; /* it says itself how many locks it is about */
    read_fn *read;
} kinds[] = {
    {'T', false, read_take},         {'N', false, read_take},        {'F', false, read_take},
    {'W', false, read_take},         {'G', true, read_take_group},   {'C', false, read_confirm},
    {'H', true, read_confirm_group}, {'E', false, read_extend},      {'J', false, read_join},
    {'R', false, read_release},      {'U', false, read_undo},        {'V', true, read_undo},
    {'I', false, read_inspect},      {'K', false, read_count},       {'B', false, read_break},
    {'L', false, read_release},      {'A', false, read_extend_also}, {'S', false, read_release},
    {'M', false, read_release},
};

bool storage_module_has_more(const struct storage_module_reader *reader)
{
    return reader->at < reader->end;
}

static void begin_request(struct storage_module_request *read, char letter)
{
    read->letter = letter;
    read->locks = 1;
    read->counted = false;
    read->resource[0] = read->lock_id[0] = read->owner[0] = '\0';
    read->request = (struct fence_request){
        .resource = read->resource,
        .lock_id = read->lock_id,
        .owner = read->owner,
    };
}

bool storage_module_read(struct storage_module_reader *reader,
                         struct storage_module_request *ret_request)
{
    struct storage_module_bytes letter;
    if (!next(reader, &letter) || letter.len != 1)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].letter != *letter.at)
            continue;
        begin_request(ret_request, *letter.at);
        return (kinds[i].groups || next_resource(reader, ret_request->resource)) &&
               kinds[i].read(reader, ret_request);
    }
    return false;
}
