#include "tests/integration/storage/redis/module/chance.h"

#include "fence/protocol/name.h"

#include <stdio.h>
#include <string.h>

enum {
    NAMES = 4,
    IDS = 3,
    ATTEMPTS = 3,
};

static const char *const names[NAMES] = {"a", "orders/42", "b:c", "~d"};
static const uint16_t slots[NAMES] = {7, 8, 7, 16383};
static const char *const ids[IDS] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                     "bbbbbbbbbbbbbbbbbbbbbb"};
static const uint64_t attempts[ATTEMPTS] = {1, UINT64_C(0xfedcba9876543210), UINT64_MAX};
static const char *const owners[] = {"", "", "worker 1", "a:b:1\x1fkey-1",
                                     "\x1dw\03660000"}; /* of a writer, with a delay */

struct chance chance_new(uint64_t seed)
{
    return (struct chance){.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
}

unsigned chance_below(struct chance *chance, unsigned bound)
{
    chance->state ^= chance->state << 13;
    chance->state ^= chance->state >> 7;
    chance->state ^= chance->state << 17;
    return (unsigned)((chance->state >> 20) % bound);
}

static bool is_one_in(struct chance *chance, unsigned n)
{
    return chance_below(chance, n) == 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int64_t some_token(struct chance *chance)
{
    if (is_one_in(chance, 40))
        return FENCE_TOKEN_MAX - chance_below(chance, 3);
    return 1 + chance_below(chance, 12);
}

static int64_t some_hint(struct chance *chance)
{
    switch (chance_below(chance, 12)) {
    case 0:
        return chance_below(chance, 15);
    case 1:
        return FENCE_HINT_LEAP * 3 + chance_below(chance, 9);
    case 2:
        return FENCE_TOKEN_MAX - chance_below(chance, 3);
    default:
        return 0;
    }
}

/* Locks @first, and those behind it. */
static void make_group(struct chance *chance, unsigned first)
{
    struct fence_group *group = &chance->group;
    group->count = 1 + chance_below(chance, NAMES);
    for (unsigned k = 0; k < group->count; k++) {
        const unsigned name = (first + k) % NAMES;
        snprintf(group->locks[k].resource, sizeof(group->locks[k].resource), "%s", names[name]);
        group->locks[k].slot = slots[name];
        group->locks[k].token = some_token(chance);
        group->locks[k].hint = some_hint(chance);
    }
}

static void draw_by_kind(struct chance *chance, struct fence_request *request)
{
    if (request->kind == FENCE_REQUEST_TAKE) {
        request->take.hint = some_hint(chance);
        request->take.waits = is_one_in(chance, 3);
        request->take.ticket =
            is_one_in(chance, 4) ? FENCE_TICKET_NONE : (int64_t)chance_below(chance, 12);
    } else if (request->kind == FENCE_REQUEST_EXTEND || request->kind == FENCE_REQUEST_JOIN) {
        request->extend.extensions_max = chance_below(chance, 5);
        request->extend.extended = 1 + chance_below(chance, 3);
    } else if (request->kind == FENCE_REQUEST_RELEASE) {
        request->release.covers = is_one_in(chance, 2);
        if (is_one_in(chance, 2))
            request->release.keep_ms = CHANCE_TTL_MS * (1 + chance_below(chance, 3));
    } else if (request->kind == FENCE_REQUEST_COUNT) {
        request->counter.hint = some_hint(chance);
        request->counter.values = chance_below(chance, 3);
        request->counter.names_max = is_one_in(chance, 3) ? 2 : 100;
    }
}

struct fence_request chance_request(struct chance *chance)
{
    static const enum fence_request_kind kinds[] = {
        FENCE_REQUEST_TAKE,   FENCE_REQUEST_TAKE,    FENCE_REQUEST_TAKE,  FENCE_REQUEST_CONFIRM,
        FENCE_REQUEST_EXTEND, FENCE_REQUEST_EXTEND,  FENCE_REQUEST_JOIN,  FENCE_REQUEST_RELEASE,
        FENCE_REQUEST_UNDO,   FENCE_REQUEST_INSPECT, FENCE_REQUEST_COUNT, FENCE_REQUEST_BREAK,
    };
    const enum fence_request_kind kind =
        kinds[chance_below(chance, sizeof(kinds) / sizeof(kinds[0]))];
    const unsigned name = chance_below(chance, NAMES);
    const bool groups = (kind == FENCE_REQUEST_TAKE || kind == FENCE_REQUEST_CONFIRM ||
                         kind == FENCE_REQUEST_UNDO) &&
                        is_one_in(chance, 4);
    const bool alike = kind == FENCE_REQUEST_EXTEND && is_one_in(chance, 2); /* STORAGE_ALSO */
    if (groups)
        make_group(chance, name);
    struct fence_request request = {
        .kind = kind,
        .resource = names[name],
        .lock_id = ids[alike ? 0 : chance_below(chance, IDS)],
        .owner = owners[chance_below(chance, sizeof(owners) / sizeof(owners[0]))],
        .attempt = attempts[chance_below(chance, ATTEMPTS)],
        .token = some_token(chance),
        .ttl_ms = CHANCE_TTL_MS * (alike ? 1 : 1 + chance_below(chance, 2)),
        .idempotent = is_one_in(chance, 3),
        .slot = slots[name],
        .group = groups ? &chance->group : NULL,
    };
    draw_by_kind(chance, &request);
    if (alike)
        request.extend.extensions_max = 4;
    return request;
}

/* ---- harm ------------------------------------------------------------------------------------ */

/* As install.lua writes a lock, and as it is once it has its expiry. */
static void import_lock(struct chance *chance, long long now_ms, const char *key, char *to)
{
    const char *id = is_one_in(chance, 4) ? "~" : ids[chance_below(chance, IDS)];
    const char *attempt = *id == '~' ? "" : is_one_in(chance, 2) ? ".0000000000000001" : ".*";
    const unsigned from = chance_below(chance, 8);
    const unsigned number = *id == '~' ? 0 : chance_below(chance, 12);
    if (is_one_in(chance, 2))
        snprintf(to, CHANCE_COMMAND_MAX, "SET %s @%013lld@%03u@%s%s:%u:%u::%s", key,
                 now_ms + (is_one_in(chance, 6) ? -1000 : CHANCE_TTL_MS), from, id, attempt, number,
                 chance_below(chance, 3), is_one_in(chance, 2) ? "" : "other");
    else
        snprintf(to, CHANCE_COMMAND_MAX, "SET %s %s%s:%u:%u:%u:%s PX %d", key, id, attempt, number,
                 chance_below(chance, 3), from, is_one_in(chance, 2) ? "" : "other", CHANCE_TTL_MS);
}

/* No counter of a slot is lowered: Lua does not look at the counter where a lock has the token. And
 * no position is near the end of what Lua counts. */
static void miscount(struct chance *chance, char *to)
{
    static const char *const fields[] = {"7",   "8",     "16383", "writes",
                                         "n:a", "n:b:c", "names", "floor"};
    static const char *const values[] = {
        "9007199254740991", "9007199254740990", "x", "3", "9", "1"};
    enum {
        SLOTS = 3,
        WRITES = 3,
    };
    const unsigned field = chance_below(chance, 8);
    const unsigned value = field < SLOTS     ? chance_below(chance, 3)
                           : field == WRITES ? 2 + chance_below(chance, 4)
                                             : chance_below(chance, 6);
    if (field >= SLOTS && is_one_in(chance, 2))
        snprintf(to, CHANCE_COMMAND_MAX, "HDEL pawl:fleet %s", fields[field]);
    else
        snprintf(to, CHANCE_COMMAND_MAX, "HSET pawl:fleet %s %s", fields[field], values[value]);
}

void chance_harm(struct chance *chance, long long now_ms,
                 char ret_command[static CHANCE_COMMAND_MAX])
{
    char key[64];
    snprintf(key, sizeof(key), "pawl:lock:%s", names[chance_below(chance, NAMES)]);
    switch (chance_below(chance, 12)) {
    case 0:
    case 1:
    case 2:
        import_lock(chance, now_ms, key, ret_command);
        break;
    case 3:
        snprintf(ret_command, CHANCE_COMMAND_MAX, "SET %s foreign PX %d", key, CHANCE_TTL_MS);
        break;
    case 4:
        snprintf(ret_command, CHANCE_COMMAND_MAX, "PERSIST %s", key);
        break;
    case 5:
    case 6:
    case 7:
        snprintf(ret_command, CHANCE_COMMAND_MAX, "DEL %s", key); /* its lease ends */
        break;
    case 8:
        snprintf(ret_command, CHANCE_COMMAND_MAX, "DEL pawl:waiting pawl:wait:a");
        break;
    case 9:
        snprintf(ret_command, CHANCE_COMMAND_MAX, "LPUSH %s x", key);
        break;
    case 10:
        miscount(chance, ret_command);
        break;
    default:
        snprintf(ret_command, CHANCE_COMMAND_MAX, "HDEL pawl:fleet floor");
    }
}
