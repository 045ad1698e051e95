#include "storage/redis/module/api.h"

#include <string.h>

struct redis_api redis;

/* The names of the functions in a server. */
static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define FUNCTION(theirs, ours)                                                                     \
    {                                                                                              \
        "RedisModule_" #theirs, offsetof(struct redis_api, ours)                                   \
    }
    FUNCTION(SetModuleAttribs, set_module),
    FUNCTION(CreateCommand, create_command),
    FUNCTION(WrongArity, wrong_arity),
    FUNCTION(GetContextFlags, state),
    FUNCTION(Milliseconds, wall_ms),
    FUNCTION(MonotonicMicroseconds, now_us),
    FUNCTION(GetSelectedDb, database),
    FUNCTION(CreateString, string_new),
    FUNCTION(FreeString, string_free),
    FUNCTION(StringPtrLen, string_bytes),
    FUNCTION(OpenKey, key_open),
    FUNCTION(CloseKey, key_close),
    FUNCTION(KeyType, key_type),
    FUNCTION(ValueLength, key_len),
    FUNCTION(DeleteKey, key_delete),
    FUNCTION(StringDMA, key_bytes),
    FUNCTION(StringTruncate, key_resize),
    FUNCTION(StringSet, key_set),
    FUNCTION(GetAbsExpire, key_expiry),
    FUNCTION(SetAbsExpire, key_set_expiry),
    FUNCTION(HashGet, hash_get),
    FUNCTION(HashSet, hash_set),
    FUNCTION(Call, call),
    FUNCTION(CallReplyType, reply_type),
    FUNCTION(CallReplyStringPtr, reply_bytes),
    FUNCTION(CallReplyLength, reply_len),
    FUNCTION(CallReplyArrayElement, reply_element),
    FUNCTION(FreeCallReply, reply_free),
    FUNCTION(Replicate, replicate),
    FUNCTION(PublishMessage, publish),
    FUNCTION(SubscribeToServerEvent, on_event),
    FUNCTION(SubscribeToKeyspaceEvents, on_key_event),
    FUNCTION(ReplyWithLongLong, answer_integer),
    FUNCTION(ReplyWithArray, answer_array),
    FUNCTION(ReplyWithStringBuffer, answer_bytes),
    FUNCTION(ReplyWithError, answer_error),
    FUNCTION(GetCommand, command_of),
    FUNCTION(SetCommandACLCategories, set_categories),
#undef FUNCTION
};

enum {
    LATER = 1, /* the last of them may be missing */
};

_Static_assert(sizeof(functions) / sizeof(functions[0]) ==
                   sizeof(struct redis_api) / sizeof(void (*)(void)),
               "each function has a name");

/* The first word of the context of a load is the function that looks up the others. */
bool storage_module_api_init(struct redis_ctx *ctx)
{
    int (*look_up)(const char *name, void *ret_function) = NULL;
    memcpy(&look_up, ctx, sizeof(look_up));
    const size_t count = sizeof(functions) / sizeof(functions[0]);
    for (size_t i = 0; i < count; i++) {
        const bool is_needed = i < count - LATER;
        if (look_up(functions[i].name, (char *)&redis + functions[i].offset) != REDIS_OK &&
            is_needed)
            return false;
    }
    return true;
}

bool storage_module_categorize(struct redis_ctx *ctx, const char *name, const char *categories)
{
    return !redis.set_categories ||
           redis.set_categories(redis.command_of(ctx, name), categories) == REDIS_OK;
}
