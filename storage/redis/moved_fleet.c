#include "storage/redis/moved_fleet.h"

#include "fence/protocol/decimal.h"
#include "fence/protocol/limits.h"
#include "storage/redis/reply_text.h"

#include <string.h>

/* The text up to the next ':', and steps over that. */
static const char *cut(const char **text, size_t *ret_len)
{
    const char *part = *text;
    *ret_len = strcspn(part, ":");
    *text = part + *ret_len + (part[*ret_len] == ':');
    return part;
}

static bool cut_id(const char **text, char to[static FENCE_ID_HEX_LEN + 1])
{
    size_t len = 0;
    const char *part = cut(text, &len);
    return len > 0 && storage_reply_text_plain(part, len) &&
           storage_reply_text_copy(to, FENCE_ID_HEX_LEN + 1, part, len);
}

static bool cut_number(const char **text, uint64_t max, uint64_t *ret_number)
{
    size_t len = 0;
    const char *part = cut(text, &len);
    return fence_decimal_read(part, len, max, ret_number);
}

bool storage_closed_read(const redisReply *field, struct fence_facts *facts)
{
    uint64_t floor = 0, ttl_max_ms = 0, extensions_max = 0, readers = 0;
    if (field->type == REDIS_REPLY_NIL)
        return true;
    const char *text = field->type == REDIS_REPLY_STRING ? field->str : "";
    if (!cut_id(&text, facts->closed_fleet_id) || !cut_number(&text, FENCE_TOKEN_MAX, &floor) ||
        !cut_number(&text, FENCE_TTL_CEILING_MS, &ttl_max_ms) ||
        !cut_number(&text, FENCE_EXTENSIONS_CEILING, &extensions_max) ||
        !cut_id(&text, facts->closed_for) ||
        (text[0] != '\0' && !cut_number(&text, FENCE_READERS_MAX, &readers)) || text[0] != '\0')
        return false;
    facts->closed_floor = (int64_t)floor;
    facts->closed_ttl_max_ms = (uint32_t)ttl_max_ms;
    facts->closed_readers = (uint32_t)readers;
    facts->closed_extensions_max = (uint32_t)extensions_max;
    facts->closed = true;
    return true;
}

bool storage_predecessors_read(const redisReply *field, struct fence_facts *facts)
{
    const bool fine =
        field->type == REDIS_REPLY_NIL ||
        (field->type == REDIS_REPLY_STRING && storage_reply_text_plain(field->str, field->len) &&
         fence_predecessors_parse(field->str, field->len, &facts->predecessors) == 0);
    if (facts->closed)
        fence_predecessors_add(&facts->predecessors, facts->closed_fleet_id);
    return fine;
}
