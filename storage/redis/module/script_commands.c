#include "storage/redis/module/script_commands.h"

#include "fence/protocol/decimal.h"
#include "storage/redis/keys.h"
#include "storage/redis/module/leases.h"
#include "storage/redis/module/writing.h"

#include <string.h>

static bool is_lock_key(const struct redis_string *name)
{
    static const char begin[] = STORAGE_LOCK_KEY;
    size_t len = 0;
    const char *bytes = redis.string_bytes(name, &len);
    return len >= sizeof(begin) && len <= STORAGE_MODULE_KEY_MAX &&
           memcmp(bytes, begin, sizeof(begin) - 1) == 0;
}

/* ---- PAWL.LEFT ------------------------------------------------------------------------------- */

enum {
    NO_LEASE = -1,
};

static long long left_of(struct redis_key *key, const struct redis_string *name)
{
    size_t len = 0;
    size_t name_len = 0;
    uint64_t lease_ms = 0;
    const char *name_bytes = redis.string_bytes(name, &name_len);
    if (redis.key_type(key) != REDIS_KEY_STRING || redis.key_len(key) > STORAGE_MODULE_VALUE_MAX ||
        !is_lock_key(name))
        return NO_LEASE;
    const char *value = redis.key_bytes(key, &len, REDIS_READ);
    if (storage_module_value_read_lease(value, len, &lease_ms) == 0)
        return NO_LEASE;
    const uint64_t now_ms = storage_module_now_ms();
    const uint64_t end_ms = storage_module_lease_end(name_bytes, name_len, now_ms, lease_ms);
    return end_ms > now_ms ? (long long)(end_ms - now_ms) : 0;
}

static int left(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
    long long left_ms = NO_LEASE;
    if (argc < 2)
        return redis.wrong_arity(ctx);
    for (int i = 1; i < argc && redis.database(ctx) == 0; i++) {
        struct redis_key *key = redis.key_open(ctx, argv[i], REDIS_READ);
        left_ms = key ? left_of(key, argv[i]) : NO_LEASE;
        if (key)
            redis.key_close(key);
    }
    return redis.answer_integer(ctx, left_ms);
}

/* ---- PAWL.KEEP ------------------------------------------------------------------------------- */

enum {
    KEY = 1,
    LOCK,
    LEASE,
    ARGUMENTS,
};

static bool read_lease(const struct redis_string *text, uint64_t *ret_ms)
{
    size_t len = 0;
    const char *digits = redis.string_bytes(text, &len);
    return fence_decimal_read(digits, len, STORAGE_MODULE_LEASE_MAX_MS, ret_ms) && *ret_ms > 0;
}

static int keep_lock(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
    size_t len = 0;
    uint64_t lease_ms = 0;
    const struct fence_turn turn = {.now_ms = storage_module_now_ms()};
    struct storage_module_store store = {.ctx = ctx, .turn = &turn};
    if (argc != ARGUMENTS)
        return redis.wrong_arity(ctx);
    const char *lock = redis.string_bytes(argv[LOCK], &len);
    if (redis.database(ctx) != 0 || !is_lock_key(argv[KEY]) ||
        len > STORAGE_MODULE_VALUE_MAX - STORAGE_MODULE_HEAD_MAX ||
        !read_lease(argv[LEASE], &lease_ms))
        return redis.answer_error(ctx, "ERR not a lock of Pawl");
    struct redis_key *key = redis.key_open(ctx, argv[KEY], REDIS_READ | REDIS_WRITE);
    const bool kept =
        storage_module_write_lock(&store, key, argv[KEY], lock, len, turn.now_ms + lease_ms);
    redis.key_close(key);
    return kept ? redis.answer_integer(ctx, 1)
                : redis.answer_error(ctx, "OOM no memory to note a lease");
}

bool storage_module_script_commands_init(struct redis_ctx *ctx)
{
    return redis.create_command(ctx, STORAGE_MODULE_LEFT, left, "readonly fast", 1, -1, 1) ==
               REDIS_OK &&
           redis.create_command(ctx, STORAGE_MODULE_KEEP, keep_lock, "write deny-oom fast", 1, 1,
                                1) == REDIS_OK &&
           storage_module_categorize(ctx, STORAGE_MODULE_LEFT, "read fast") &&
           storage_module_categorize(ctx, STORAGE_MODULE_KEEP, "write fast");
}
