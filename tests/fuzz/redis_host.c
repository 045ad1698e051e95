#include "tests/fuzz/redis_host.h"

#include "storage/redis/keys.h"
#include "storage/redis/module/api.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_MAX = 2048,
    COMMANDS_MAX = 8,
    HEARD_MAX = 16,
    NEST_MAX = 8,
};

#define REPLICATION_ID "0123456789abcdef0123456789abcdef01234567"

struct redis_string {
    size_t len;
    char *bytes;
};

struct entry {
    struct redis_string *name; /* NULL: free */
    struct redis_string *value;
    long long expires_ms;
};

struct redis_key {
    struct entry *entry; /* NULL: none is there */
    struct redis_string *name;
    bool is_fleet;
    int mode;
};

struct redis_reply {
    const char *text; /* NULL: a list of settings */
};

struct redis_ctx {
    int (*look_up)(const char *name, void *ret_function);
};

/* The input is too short to fill it. */
struct table {
    struct entry entries[ENTRIES_MAX];
    unsigned used; /* the first of these; the rest are free */
};

static struct {
    struct table keys;
    struct table fields; /* of the fleet hash, which is there while it has one */
    struct {
        const char *name;
        redis_command_fn *run;
    } commands[COMMANDS_MAX];
    unsigned commands_count;
    struct {
        struct redis_event event;
        redis_event_fn *heard;
    } events[HEARD_MAX];
    unsigned events_count;
    redis_key_event_fn *changed[HEARD_MAX];
    unsigned changed_count;
    uint64_t now_us;
    bool full;
    unsigned open;   /* keys */
    unsigned writes; /* of this command */
    bool refused;
    long owed[NEST_MAX]; /* elements that the answer still needs, of each array in the one before */
    unsigned depth;
    unsigned answers; /* on the top */
} host;

int RedisModule_OnLoad(struct redis_ctx *ctx, struct redis_string **argv, int argc);
int RedisModule_OnUnload(struct redis_ctx *ctx);

/* ---- strings --------------------------------------------------------------------------------- */

static struct redis_string *string_new(struct redis_ctx *ctx, const char *bytes, size_t len)
{
    struct redis_string *string = malloc(sizeof(*string));
    (void)ctx;
    assert(string);
    string->len = len;
    string->bytes = malloc(len ? len : 1);
    assert(string->bytes);
    memcpy(string->bytes, bytes, len);
    return string;
}

static void string_free(struct redis_ctx *ctx, struct redis_string *string)
{
    (void)ctx;
    free(string->bytes);
    free(string);
}

static const char *string_bytes(const struct redis_string *string, size_t *ret_len)
{
    *ret_len = string->len;
    return string->bytes;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool is_named(const struct entry *entry, const char *name, size_t len)
{
    return entry->name && entry->name->len == len && memcmp(entry->name->bytes, name, len) == 0;
}

static struct entry *find(struct table *table, const char *name, size_t len)
{
    for (unsigned i = 0; i < table->used; i++)
        if (is_named(&table->entries[i], name, len))
            return &table->entries[i];
    return NULL;
}

static struct entry *add(struct table *table)
{
    for (unsigned i = 0; i < table->used; i++)
        if (!table->entries[i].name)
            return &table->entries[i];
    assert(table->used < ENTRIES_MAX);
    return &table->entries[table->used++];
}

static void drop(struct entry *entry)
{
    string_free(NULL, entry->name);
    string_free(NULL, entry->value);
    *entry = (struct entry){0};
}

static struct entry *put(struct table *table, const char *name, size_t len, const char *value,
                         size_t value_len)
{
    struct entry *entry = find(table, name, len);
    if (entry) {
        string_free(NULL, entry->value);
    } else {
        entry = add(table);
        entry->name = string_new(NULL, name, len);
    }
    entry->value = string_new(NULL, value, value_len);
    entry->expires_ms = REDIS_NO_EXPIRY;
    return entry;
}

static void empty(struct table *table)
{
    for (unsigned i = 0; i < table->used; i++)
        if (table->entries[i].name)
            drop(&table->entries[i]);
    table->used = 0;
}

static long long wall_ms(void)
{
    return 1700000000000 + (long long)(host.now_us / 1000);
}

static uint64_t now_us(void)
{
    return host.now_us;
}

static void tell_changed(struct redis_string *name, int type, const char *event)
{
    for (unsigned i = 0; i < host.changed_count; i++)
        host.changed[i](&(struct redis_ctx){0}, type, event, name);
}

static struct entry *live(const char *name, size_t len)
{
    struct entry *entry = find(&host.keys, name, len);
    if (!entry || entry->expires_ms == REDIS_NO_EXPIRY || entry->expires_ms > wall_ms())
        return entry;
    tell_changed(entry->name, REDIS_KEY_EXPIRED, "expired");
    drop(entry);
    return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool has_fleet(void)
{
    for (unsigned i = 0; i < host.fields.used; i++)
        if (host.fields.entries[i].name)
            return true;
    return false;
}

static struct redis_key *key_open(struct redis_ctx *ctx, struct redis_string *name, int mode)
{
    const bool is_fleet = name->len == strlen(STORAGE_FLEET_KEY) &&
                          memcmp(name->bytes, STORAGE_FLEET_KEY, name->len) == 0;
    struct entry *entry = is_fleet ? NULL : live(name->bytes, name->len);
    (void)ctx;
    if (!(mode & REDIS_WRITE) && !entry && !(is_fleet && has_fleet()))
        return NULL;
    struct redis_key *key = malloc(sizeof(*key));
    assert(key);
    *key = (struct redis_key){entry, name, is_fleet, mode};
    host.open++;
    return key;
}

static void key_close(struct redis_key *key)
{
    assert(host.open > 0);
    host.open--;
    free(key);
}

static int key_type(struct redis_key *key)
{
    if (!key || (key->is_fleet ? !has_fleet() : !key->entry))
        return REDIS_KEY_EMPTY;
    return key->is_fleet ? REDIS_KEY_HASH : REDIS_KEY_STRING;
}

static size_t key_len(struct redis_key *key)
{
    return key->entry ? key->entry->value->len : 0;
}

static void note_write(const struct redis_key *key)
{
    assert(key->mode & REDIS_WRITE);
    host.writes++;
}

static int key_delete(struct redis_key *key)
{
    note_write(key);
    if (key->entry)
        drop(key->entry);
    key->entry = NULL;
    return REDIS_OK;
}

static char *key_bytes(struct redis_key *key, size_t *ret_len, int mode)
{
    assert(key->entry && (key->mode & mode) == mode);
    *ret_len = key->entry->value->len;
    return key->entry->value->bytes;
}

static int key_set(struct redis_key *key, struct redis_string *value)
{
    note_write(key);
    key->entry = put(&host.keys, key->name->bytes, key->name->len, value->bytes, value->len);
    return REDIS_OK;
}

static int key_resize(struct redis_key *key, size_t len)
{
    struct redis_string *value = key->entry->value;
    note_write(key);
    char *bytes = calloc(1, len ? len : 1);
    assert(bytes);
    memcpy(bytes, value->bytes, len < value->len ? len : value->len);
    free(value->bytes);
    value->bytes = bytes;
    value->len = len;
    return REDIS_OK;
}

static long long key_expiry(struct redis_key *key)
{
    return key->entry ? key->entry->expires_ms : REDIS_NO_EXPIRY;
}

/* An expiry in the past removes a lock whose lease has ended. Each call may do that. */
static int key_set_expiry(struct redis_key *key, long long expires_ms)
{
    if (expires_ms > wall_ms())
        note_write(key);
    if (key->entry)
        key->entry->expires_ms = expires_ms;
    return REDIS_OK;
}

/* ---- the fleet hash -------------------------------------------------------------------------- */

/* The next name of the arguments, which a NULL ends. */
static bool next_field(int flags, va_list *args, struct redis_host_text *ret_name)
{
    if (flags & REDIS_HASH_TEXTS) {
        const char *text = va_arg(*args, const char *);
        *ret_name = (struct redis_host_text){text, text ? strlen(text) : 0};
        return text != NULL;
    }
    const struct redis_string *string = va_arg(*args, const struct redis_string *);
    if (string)
        *ret_name = (struct redis_host_text){string->bytes, string->len};
    return string != NULL;
}

static int hash_get(struct redis_key *key, int flags, ...)
{
    struct redis_host_text name;
    va_list args;
    assert(key->is_fleet);
    va_start(args, flags);
    while (next_field(flags, &args, &name)) {
        struct redis_string **value = va_arg(args, struct redis_string **);
        const struct entry *found = find(&host.fields, name.at, name.len);
        *value = found ? string_new(NULL, found->value->bytes, found->value->len) : NULL;
    }
    va_end(args);
    return REDIS_OK;
}

static int hash_set(struct redis_key *key, int flags, ...)
{
    struct redis_host_text name;
    va_list args;
    assert(key->is_fleet);
    va_start(args, flags);
    while (next_field(flags, &args, &name)) {
        const struct redis_string *value = va_arg(args, const struct redis_string *);
        struct entry *found = find(&host.fields, name.at, name.len);
        note_write(key);
        if (value != REDIS_FIELD_REMOVED)
            put(&host.fields, name.at, name.len, value->bytes, value->len);
        else if (found)
            drop(found);
    }
    va_end(args);
    return REDIS_OK;
}

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

/* ---- what goes out --------------------------------------------------------------------------- */

/* Reads each byte, for the sanitizers. */
static void read_all(const char *bytes, size_t len)
{
    static volatile unsigned char sum;
    for (size_t i = 0; i < len; i++)
        sum = (unsigned char)(sum + (unsigned char)bytes[i]);
}

static int replicate(struct redis_ctx *ctx, const char *command, const char *format, ...)
{
    va_list args;
    (void)ctx;
    read_all(command, strlen(command));
    va_start(args, format);
    for (const char *kind = format; *kind; kind++) {
        const char *text = NULL;
        switch (*kind) {
        case 's': {
            const struct redis_string *string = va_arg(args, const struct redis_string *);
            read_all(string->bytes, string->len);
            break;
        }
        case 'c':
            text = va_arg(args, const char *);
            read_all(text, strlen(text));
            break;
        case 'b':
            text = va_arg(args, const char *);
            read_all(text, va_arg(args, size_t));
            break;
        case 'l':
            (void)va_arg(args, long long);
            break;
        default:
            abort();
        }
    }
    va_end(args);
    return REDIS_OK;
}

static int publish(struct redis_ctx *ctx, struct redis_string *channel,
                   struct redis_string *message)
{
    (void)ctx;
    read_all(channel->bytes, channel->len);
    read_all(message->bytes, message->len);
    return 0;
}

/* One more element; an array that has all of its elements is one of the array around it. */
static int answered(void)
{
    while (host.depth > 0 && --host.owed[host.depth - 1] == 0)
        host.depth--;
    if (host.depth == 0)
        host.answers++;
    return REDIS_OK;
}

static int answer_integer(struct redis_ctx *ctx, long long integer)
{
    (void)ctx;
    (void)integer;
    return answered();
}

static int answer_array(struct redis_ctx *ctx, long len)
{
    (void)ctx;
    assert(len > 0 && host.depth < NEST_MAX && host.answers == 0);
    host.owed[host.depth++] = len;
    return REDIS_OK;
}

static int answer_bytes(struct redis_ctx *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    read_all(bytes, len);
    return answered();
}

static int answer_error(struct redis_ctx *ctx, const char *text)
{
    (void)ctx;
    read_all(text, strlen(text));
    assert(!strpbrk(text, "\r\n"));
    host.refused = host.refused || host.depth == 0;
    return answered();
}

static int wrong_arity(struct redis_ctx *ctx)
{
    return answer_error(ctx, "ERR wrong number of arguments");
}

/* ---- loading --------------------------------------------------------------------------------- */

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
        LENT(WrongArity, wrong_arity),
        LENT(GetContextFlags, state),
        LENT(Milliseconds, wall_ms),
        LENT(MonotonicMicroseconds, now_us),
        LENT(GetSelectedDb, database),
        LENT(CreateString, string_new),
        LENT(FreeString, string_free),
        LENT(StringPtrLen, string_bytes),
        LENT(OpenKey, key_open),
        LENT(CloseKey, key_close),
        LENT(KeyType, key_type),
        LENT(ValueLength, key_len),
        LENT(DeleteKey, key_delete),
        LENT(StringDMA, key_bytes),
        LENT(StringTruncate, key_resize),
        LENT(StringSet, key_set),
        LENT(GetAbsExpire, key_expiry),
        LENT(SetAbsExpire, key_set_expiry),
        LENT(HashGet, hash_get),
        LENT(HashSet, hash_set),
        LENT(Call, call),
        LENT(CallReplyType, reply_type),
        LENT(CallReplyStringPtr, reply_bytes),
        LENT(CallReplyLength, reply_len),
        LENT(CallReplyArrayElement, reply_element),
        LENT(FreeCallReply, reply_free),
        LENT(Replicate, replicate),
        LENT(PublishMessage, publish),
        LENT(SubscribeToServerEvent, on_event),
        LENT(SubscribeToKeyspaceEvents, on_key_event),
        LENT(ReplyWithLongLong, answer_integer),
        LENT(ReplyWithArray, answer_array),
        LENT(ReplyWithStringBuffer, answer_bytes),
        LENT(ReplyWithError, answer_error),
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
        argv[i] = string_new(NULL, args[i].at, args[i].len);
    host.answers = host.depth = host.writes = 0;
    host.refused = false;
    (void)command_of (&args[0])(&(struct redis_ctx){look_up}, argv, (int)count);
    assert(host.answers == 1 && host.depth == 0 && host.open == 0);
    for (unsigned i = 0; i < count; i++)
        string_free(NULL, argv[i]);
}

void redis_host_set(const char *name, const char *value, size_t len)
{
    struct entry *entry = find(&host.keys, name, strlen(name));
    struct redis_string *changed = string_new(NULL, name, strlen(name));
    if (value)
        put(&host.keys, name, strlen(name), value, len);
    else if (entry)
        drop(entry);
    tell_changed(changed, REDIS_KEY_STRING_WRITTEN, "set");
    string_free(NULL, changed);
}

void redis_host_set_field(const char *field, const char *value, size_t len)
{
    struct entry *entry = find(&host.fields, field, strlen(field));
    if (value)
        put(&host.fields, field, strlen(field), value, len);
    else if (entry)
        drop(entry);
}

static void tell(uint64_t id)
{
    for (unsigned i = 0; i < host.events_count; i++)
        if (host.events[i].event.id == id)
            host.events[i].heard(&(struct redis_ctx){look_up}, host.events[i].event, 0, NULL);
}

void redis_host_flush(void)
{
    empty(&host.keys);
    empty(&host.fields);
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
