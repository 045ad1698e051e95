/* The command that carries the requests of a call, and how a server comes to have it.
 *
 *     PAWL.BATCH <view> <fleet> <member> <arguments> pawl:fleet <key of a lock>...
 *
 * answers what storage/redis/lua/requests.lua answers to EVALSHA with the same view, fleet, member,
 * keys and arguments, which stand in one string here: bulk strings of RESP, one behind the other.
 * The command alone, without arguments, answers the version of all that. */
#include "fence/master/requests.h"
#include "storage/redis/keys.h"
#include "storage/redis/module/answer.h"
#include "storage/redis/module/api.h"
#include "storage/redis/module/events.h"
#include "storage/redis/module/expire_leases.h"
#include "storage/redis/module/leases.h"
#include "storage/redis/module/marker.h"
#include "storage/redis/module/request.h"
#include "storage/redis/module/script_commands.h"
#include "storage/redis/module/store.h"

#include <string.h>

enum {
    VIEW = 1,
    FLEET,
    MEMBER,
    ARGUMENTS,
    FLEET_KEY,
    LOCK_KEYS,
};

enum {
    ENDED_AT_LEAST = 4, /* ended locks that a call removes, beside one for each request */
};

/* One command runs at a time. */
static struct {
    struct storage_module_bytes keys[STORAGE_MODULE_LOCKS_MAX];
    struct storage_module_request request;
    struct fence_turn turn;
    struct storage_module_store store;
    struct fence_master_answer answer;
    int64_t numbers[FENCE_GROUP_MAX];
} hand;

static struct storage_module_bytes bytes_of(const struct redis_string *string)
{
    struct storage_module_bytes bytes = {0};
    bytes.at = redis.string_bytes(string, &bytes.len);
    return bytes;
}

/* ---- reading a call -------------------------------------------------------------------------- */

static struct storage_module_reader reader_of(struct redis_string **argv, int argc)
{
    const struct storage_module_bytes arguments = bytes_of(argv[ARGUMENTS]);
    return (struct storage_module_reader){
        .at = arguments.at,
        .end = arguments.at + arguments.len,
        .keys = hand.keys,
        .keys_left = (unsigned)(argc - LOCK_KEYS),
    };
}

/* Reads all requests before the first is done, so that a malformed call changes nothing. Returns
 * their number; 0: the call is malformed. */
static unsigned count_requests(struct redis_string **argv, int argc)
{
    static const char fleet_key[] = STORAGE_FLEET_KEY;
    const struct storage_module_bytes fleet = bytes_of(argv[FLEET_KEY]);
    unsigned count = 0;
    if (fleet.len != sizeof(fleet_key) - 1 || memcmp(fleet.at, fleet_key, fleet.len) != 0)
        return 0;
    for (int i = LOCK_KEYS; i < argc; i++)
        hand.keys[i - LOCK_KEYS] = bytes_of(argv[i]);
    struct storage_module_reader reader = reader_of(argv, argc);
    while (storage_module_has_more(&reader)) {
        if (!storage_module_read(&reader, &hand.request))
            return 0;
        count++;
    }
    return reader.keys_left == 0 ? count : 0;
}

/* ---- doing it -------------------------------------------------------------------------------- */

static void begin_call(struct redis_ctx *ctx, struct redis_string **argv, struct redis_key *fleet)
{
    hand.turn = (struct fence_turn){
        .store = &storage_module_store,
        .context = &hand.store,
        .now_ms = storage_module_now_ms(),
    };
    hand.store = (struct storage_module_store){
        .ctx = ctx,
        .fleet = fleet,
        .fleet_at = argv[FLEET_KEY],
        .full = (redis.state(ctx) & REDIS_STATE_FULL) != 0,
        .turn = &hand.turn,
    };
    hand.answer.numbers = hand.numbers;
}

static void answer_requests(struct redis_ctx *ctx, struct redis_string **argv, int argc,
                            unsigned count)
{
    struct storage_module_store *store = &hand.store;
    struct storage_module_reader reader = reader_of(argv, argc);
    struct redis_string **keys = argv + LOCK_KEYS;
    bool counted = false;
    redis.answer_array(ctx, (long)count + 1);
    for (unsigned i = 0; i < count && storage_module_read(&reader, &hand.request); i++) {
        storage_module_store_begin(store, &hand.request, keys);
        fence_master_do(&hand.turn, FENCE_REFUSAL_NONE, &hand.request.request, &hand.answer);
        storage_module_answer(store, &hand.answer);
        counted = counted || storage_module_is_counted(store, &hand.answer);
        storage_module_store_end(store);
        keys += hand.request.locks;
    }
    redis.answer_integer(ctx, counted ? storage_module_count_write(store)
                                      : storage_module_position(store));
}

/* From here on scripts ask the module for leases. All locks are swept: the module takes over the
 * locks of scripts, and a lock that the table lacks begins its lease. Redis does not count this as
 * the first write of a call. */
static void tell_leases(void)
{
    static const char monotonic[] = STORAGE_MODULE_MONOTONIC;
    storage_module_set_field(&hand.store, "leases", monotonic, sizeof(monotonic) - 1);
    storage_module_set_field(&hand.store, "unswept", "0", 1);
    hand.store.wrote = false;
}

static void act_for_sender(struct redis_ctx *ctx, struct redis_string **argv, int argc,
                           unsigned count, struct redis_key *fleet)
{
    const struct storage_module_terms terms = {
        .view = bytes_of(argv[VIEW]),
        .fleet_id = bytes_of(argv[FLEET]),
        .member = bytes_of(argv[MEMBER]),
    };
    char why[STORAGE_MODULE_WHY_MAX];
    bool leases_told = false;
    begin_call(ctx, argv, fleet);
    if (!storage_module_marker_allows(ctx, fleet, &terms, &hand.turn, &leases_told, why)) {
        redis.answer_error(ctx, why);
        return;
    }
    if (storage_module_leases_take_emptied() || !leases_told)
        tell_leases();
    if (hand.turn.marker_changed)
        storage_module_set_field(&hand.store, "view", terms.view.at, terms.view.len);
    answer_requests(ctx, argv, argc, count);
}

static int batch(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
    if (argc == 1)
        return redis.answer_integer(ctx, STORAGE_MODULE_VERSION);
    if (redis.database(ctx) != 0)
        return redis.answer_error(ctx, "ERR the locks of Pawl are in database 0");
    if (argc <= LOCK_KEYS || argc - LOCK_KEYS > STORAGE_MODULE_LOCKS_MAX)
        return redis.wrong_arity(ctx);
    const unsigned count = count_requests(argv, argc);
    if (count == 0)
        return redis.answer_error(ctx, "ERR not a request of Pawl");
    struct redis_key *fleet = redis.key_open(ctx, argv[FLEET_KEY], REDIS_READ | REDIS_WRITE);
    const int type = redis.key_type(fleet);
    if (type == REDIS_KEY_HASH || type == REDIS_KEY_EMPTY)
        act_for_sender(ctx, argv, argc, count, fleet);
    else
        redis.answer_error(ctx,
                           "WRONGTYPE Operation against a key holding the wrong kind of value");
    redis.key_close(fleet);
    storage_module_remove_ended(ctx, count + ENDED_AT_LEAST);
    return REDIS_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Redis looks up the names RedisModule_OnLoad and RedisModule_OnUnload. */
__attribute__((visibility("default"))) int
storage_module_load(struct redis_ctx *ctx, struct redis_string **argv,
                    int argc) __asm__("RedisModule_OnLoad");

__attribute__((visibility("default"))) int
storage_module_unload(struct redis_ctx *ctx) __asm__("RedisModule_OnUnload");

/* A server that unloads the module removes its commands and events by itself. */
int storage_module_unload(struct redis_ctx *ctx)
{
    (void)ctx;
    storage_module_leases_fini();
    storage_module_marker_fini();
    return REDIS_OK;
}

static bool load(struct redis_ctx *ctx)
{
    static const char flags[] = "write fast";
    storage_module_marker_init(ctx);
    return redis.create_command(ctx, STORAGE_MODULE_COMMAND, batch, flags, FLEET_KEY, -1, 1) ==
               REDIS_OK &&
           storage_module_script_commands_init(ctx) && storage_module_leases_init() &&
           storage_module_events_init(ctx) &&
           storage_module_categorize(ctx, STORAGE_MODULE_COMMAND, flags);
}

int storage_module_load(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
    (void)argv;
    (void)argc;
    if (!storage_module_api_init(ctx))
        return REDIS_ERR;
    redis.set_module(ctx, "pawl-master", STORAGE_MODULE_VERSION, REDIS_API_VERSION);
    if (load(ctx))
        return REDIS_OK;
    (void)storage_module_unload(ctx);
    return REDIS_ERR;
}
