#include "tests/fuzz/redis_host.h"

#include "tests/fuzz/redis_host_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define REPLICATION_ID "0123456789abcdef0123456789abcdef01234567"

struct host host;

struct redis_reply {
    const char *text; /* NULL: a list of settings */
};

int RedisModule_OnLoad(struct redis_ctx *ctx, struct redis_string **argv, int argc);
int RedisModule_OnUnload(struct redis_ctx *ctx);

/* ---- calls of commands ----------------------------------------------------------------------- */

static const char info[] =
    "# Server\nrun_id:" REPLICATION_ID "\n# Replication\nrole:master\nmaster_replid:" REPLICATION_ID
    "\nsecond_repl_offset:-1\n# Stats\nevicted_keys:0\ntotal_net_input_bytes:100\n# Persistence\n"
    "aof_enabled:1\naof_rewrite_in_progress:0\naof_rewrite_scheduled:0\n";

static struct redis_reply replies[] = {{info}, {NULL}, {"appendonly"}, {"yes"}};

static struct redis_reply *call(struct redis_ctx *ctx, const char *command, const char *format, ...)
{
    (void)ctx;
    (void)format;
    if (strcmp(command, "INFO") == 0)
        return &replies[0];
    return strcmp(command, "CONFIG") == 0 ? &replies[1] : NULL;
}

static int reply_type(struct redis_reply *reply)
{
    return reply->text ? REDIS_REPLY_IS_STRING : REDIS_REPLY_IS_ARRAY;
}

static const char *reply_bytes(struct redis_reply *reply, size_t *ret_len)
{
    *ret_len = strlen(reply->text);
    return reply->text;
}

static size_t reply_len(struct redis_reply *reply)
{
    return reply->text ? 0 : 2;
}

static struct redis_reply *reply_element(struct redis_reply *reply, size_t i)
{
    assert(!reply->text && i < 2);
    return &replies[2 + i];
}

static void reply_free(struct redis_reply *reply)
{
    (void)reply;
}

/* ---- loading --------------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
    return host.now_us;
}

static void set_module(struct redis_ctx *ctx, const char *name, int version, int api_version)
{
    (void)ctx;
    (void)name;
    (void)version;
    assert(api_version == REDIS_API_VERSION);
}

static int create_command(struct redis_ctx *ctx, const char *name, redis_command_fn *command,
                          const char *flags, int first_key, int last_key, int key_step)
{
    (void)ctx;
    (void)flags;
    (void)first_key;
    (void)last_key;
    (void)key_step;
    assert(host.commands_count < COMMANDS_MAX);
    host.commands[host.commands_count].name = name;
    host.commands[host.commands_count++].run = command;
    return REDIS_OK;
}

static int state(struct redis_ctx *ctx)
{
    (void)ctx;
    return REDIS_STATE_MASTER | (host.full ? REDIS_STATE_FULL : 0);
}

static int database(struct redis_ctx *ctx)
{
    (void)ctx;
    return 0;
}

static int on_event(struct redis_ctx *ctx, struct redis_event event, redis_event_fn *heard)
{
    (void)ctx;
    assert(host.events_count < HEARD_MAX);
    host.events[host.events_count].event = event;
    host.events[host.events_count++].heard = heard;
    return REDIS_OK;
}

static int on_key_event(struct redis_ctx *ctx, int types, redis_key_event_fn *heard)
{
    (void)ctx;
    assert(host.changed_count < HEARD_MAX);
    if (types & REDIS_KEY_STRING_WRITTEN)
        // cppcheck-suppress AssignmentAddressToInteger ; it does not see that both are functions
        host.changed[host.changed_count++] = heard;
    return REDIS_OK;
}

/* Needed at the load alone: a server of Redis 7.0 has no categories for it. */
static struct redis_command *registered(struct redis_ctx *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return NULL;
}

static int look_up(const char *name, void *ret_function)
{
#define LENT(theirs, ours)                                                                         \
    {                                                                                              \
        "RedisModule_" #theirs, (void (*)(void))(ours)                                             \
    }
    static const struct {
        const char *name;
        void (*function)(void);
    } lent[] = {
        LENT(SetModuleAttribs, set_module),
        LENT(CreateCommand, create_command),
        LENT(WrongArity, host_wrong_arity),
        LENT(GetContextFlags, state),
        LENT(Milliseconds, host_wall_ms),
        LENT(MonotonicMicroseconds, now_us),
        LENT(GetSelectedDb, database),
        LENT(CreateString, host_string_new),
        LENT(FreeString, host_string_free),
        LENT(StringPtrLen, host_string_bytes),
        LENT(OpenKey, host_key_open),
        LENT(CloseKey, host_key_close),
        LENT(KeyType, host_key_type),
        LENT(ValueLength, host_key_len),
        LENT(DeleteKey, host_key_delete),
        LENT(StringDMA, host_key_bytes),
        LENT(StringTruncate, host_key_resize),
        LENT(StringSet, host_key_set),
        LENT(GetAbsExpire, host_key_expiry),
        LENT(SetAbsExpire, host_key_set_expiry),
        LENT(HashGet, host_hash_get),
        LENT(HashSet, host_hash_set),
        LENT(Call, call),
        LENT(CallReplyType, reply_type),
        LENT(CallReplyStringPtr, reply_bytes),
        LENT(CallReplyLength, reply_len),
        LENT(CallReplyArrayElement, reply_element),
        LENT(FreeCallReply, reply_free),
        LENT(Replicate, host_replicate),
        LENT(PublishMessage, host_publish),
        LENT(SubscribeToServerEvent, on_event),
        LENT(SubscribeToKeyspaceEvents, on_key_event),
        LENT(ReplyWithLongLong, host_answer_integer),
        LENT(ReplyWithArray, host_answer_array),
        LENT(ReplyWithStringBuffer, host_answer_bytes),
        LENT(ReplyWithError, host_answer_error),
        LENT(GetCommand, registered),
    };
#undef LENT
    for (size_t i = 0; i < sizeof(lent) / sizeof(lent[0]); i++) {
        if (strcmp(lent[i].name, name) != 0)
            continue;
        memcpy(ret_function, &lent[i].function, sizeof(lent[i].function));
        return REDIS_OK;
    }
    return REDIS_ERR;
}

void redis_host_begin(void)
{
    struct redis_ctx ctx = {look_up};
    host.commands_count = host.events_count = host.changed_count = 0;
    host.now_us = 1000000;
    host.full = false;
    const int loaded = RedisModule_OnLoad(&ctx, NULL, 0);
    assert(loaded == REDIS_OK);
    (void)loaded;
}

void redis_host_end(void)
{
    redis_host_flush();
    (void)RedisModule_OnUnload(&(struct redis_ctx){look_up});
}

/* ---- acts ------------------------------------------------------------------------------------ */

static redis_command_fn *command_of(const struct redis_host_text *name)
{
    for (unsigned i = 0; i < host.commands_count; i++)
        if (strlen(host.commands[i].name) == name->len &&
            memcmp(host.commands[i].name, name->at, name->len) == 0)
            return host.commands[i].run;
    abort();
}

void redis_host_run(const struct redis_host_text args[], unsigned count)
{
    struct redis_string *argv[REDIS_HOST_ARGS_MAX];
    assert(count > 0 && count <= REDIS_HOST_ARGS_MAX);
    for (unsigned i = 0; i < count; i++)
        argv[i] = host_string_new(NULL, args[i].at, args[i].len);
    host.answers = host.depth = host.writes = 0;
    host.refused = false;
    (void)command_of (&args[0])(&(struct redis_ctx){look_up}, argv, (int)count);
    assert(host.answers == 1 && host.depth == 0 && host.open == 0);
    for (unsigned i = 0; i < count; i++)
        host_string_free(NULL, argv[i]);
}

void redis_host_set(const char *name, const char *value, size_t len)
{
    struct host_entry *entry = host_find(&host.keys, name, strlen(name));
    struct redis_string *changed = host_string_new(NULL, name, strlen(name));
    if (value)
        host_put(&host.keys, name, strlen(name), value, len);
    else if (entry)
        host_drop(entry);
    host_tell_changed(changed, REDIS_KEY_STRING_WRITTEN, "set");
    host_string_free(NULL, changed);
}

void redis_host_set_field(const char *field, const char *value, size_t len)
{
    struct host_entry *entry = host_find(&host.fields, field, strlen(field));
    if (value)
        host_put(&host.fields, field, strlen(field), value, len);
    else if (entry)
        host_drop(entry);
}

static void tell(uint64_t id)
{
    for (unsigned i = 0; i < host.events_count; i++)
        if (host.events[i].event.id == id)
            host.events[i].heard(&(struct redis_ctx){look_up}, host.events[i].event, 0, NULL);
}

void redis_host_flush(void)
{
    host_empty(&host.keys);
    host_empty(&host.fields);
    tell(REDIS_EVENT_FLUSH);
}

void redis_host_pass(uint64_t ms)
{
    host.now_us += ms * 1000;
}

void redis_host_tick(void)
{
    tell(REDIS_EVENT_CRON);
}

void redis_host_fill(bool full)
{
    host.full = full;
}

unsigned redis_host_writes(void)
{
    return host.writes;
}

bool redis_host_refused(void)
{
    return host.refused;
}
