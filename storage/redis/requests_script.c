#include "storage/redis/requests_script.h"

#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/locks.lua.h"
#include "storage/redis/lua/rare/begin.lua.h"
#include "storage/redis/lua/rare/break.lua.h"
#include "storage/redis/lua/rare/confirm.lua.h"
#include "storage/redis/lua/rare/count.lua.h"
#include "storage/redis/lua/rare/end.lua.h"
#include "storage/redis/lua/rare/extend.lua.h"
#include "storage/redis/lua/rare/lock.lua.h"
#include "storage/redis/lua/rare/probe.lua.h"
#include "storage/redis/lua/rare/release.lua.h"
#include "storage/redis/lua/rare/take.lua.h"
#include "storage/redis/lua/requests.lua.h"
#include "storage/redis/lua/view.lua.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Each file uses only what stands before it. */
static const struct {
    const char *text;
    size_t len;
} script_files[] = {
#define FILE_OF(name)                                                                              \
    {                                                                                              \
        name, sizeof(name) - 1                                                                     \
    }
    FILE_OF(storage_redis_lua_lineage_check), FILE_OF(storage_redis_lua_view),
    FILE_OF(storage_redis_lua_locks),         FILE_OF(storage_redis_lua_rare_begin),
    FILE_OF(storage_redis_lua_rare_probe),    FILE_OF(storage_redis_lua_rare_lock),
    FILE_OF(storage_redis_lua_rare_take),     FILE_OF(storage_redis_lua_rare_confirm),
    FILE_OF(storage_redis_lua_rare_extend),   FILE_OF(storage_redis_lua_rare_break),
    FILE_OF(storage_redis_lua_rare_count),    FILE_OF(storage_redis_lua_rare_release),
    FILE_OF(storage_redis_lua_rare_end),      FILE_OF(storage_redis_lua_requests),
#undef FILE_OF
};

enum {
    SCRIPT_FILES = sizeof(script_files) / sizeof(script_files[0]),
};

char *storage_requests_script(size_t *ret_len)
{
    size_t size = 1, len = 0;
    for (size_t i = 0; i < SCRIPT_FILES; i++)
        size += script_files[i].len;
    char *script = malloc(size);
    if (!script)
        return NULL;
    for (size_t i = 0; i < SCRIPT_FILES; i++) {
        memcpy(script + len, script_files[i].text, script_files[i].len);
        len += script_files[i].len;
    }
    assert(len + 1 == size);
    script[len] = '\0';
    *ret_len = len;
    return script;
}

bool storage_requests_script_load(redisAsyncContext *context, redisCallbackFn *loaded,
                                  void *privdata)
{
    size_t len = 0;
    char *script = storage_requests_script(&len);
    const bool sent = script && redisAsyncCommand(context, loaded, privdata, "SCRIPT LOAD %b",
                                                  script, len) == REDIS_OK; /* which copies it */
    free(script);
    return sent;
}
