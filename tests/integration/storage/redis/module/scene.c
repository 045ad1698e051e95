#include "tests/integration/storage/redis/module/scene.h"

#include "storage/redis/keys.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOB_MAX = 4096,
};

void scene_connect(struct scene *scene)
{
    scene->redis = redisConnect("127.0.0.1", scene->fleet->master[0].port);
    assert_int_equal(scene->redis->err, 0);
}

void scene_admit(struct scene *scene)
{
    const char *durable = scene->fleet->persistence == REDIS_ALWAYS ? "yes" : "no";
    redisReply *info = redisCommand(scene->redis, "INFO replication");
    const char *id = strstr(info->str, "master_replid:");
    assert_non_null(id);
    freeReplyObject(redisCommand(scene->redis,
                                 "HSET pawl:fleet fleet " SCENE_FLEET
                                 " member 2 view 10,20,30 durable %s state active lineage %b:0 "
                                 "sets 0::0 bytes 0",
                                 durable, id + 14, (size_t)40));
    freeReplyObject(info);
}

static int start_scene(void **state, enum redis_persistence persistence)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    scene->fleet = redis_fleet_new_mixed(1, persistence, 1);
    scene_connect(scene);
    scene_admit(scene);
    *state = scene;
    return 0;
}

int scene_start_volatile(void **state)
{
    return start_scene(state, REDIS_VOLATILE);
}

int scene_start_always(void **state)
{
    return start_scene(state, REDIS_ALWAYS);
}

int scene_end(void **state)
{
    struct scene *scene = *state;
    redisFree(scene->redis);
    redis_fleet_free(scene->fleet);
    free(scene);
    return 0;
}

/* The words of @arguments as bulk strings; '-' is an empty one. */
static size_t blob_of(const char *arguments, char *to)
{
    char words[BLOB_MAX];
    size_t len = 0;
    snprintf(words, sizeof(words), "%s", arguments);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        const char *text = strcmp(word, "-") == 0 ? "" : word;
        len += (size_t)snprintf(to + len, BLOB_MAX - len, "$%zu\r\n%s\r\n", strlen(text), text);
    }
    return len;
}

/* A call with these bytes for its arguments. */
redisReply *scene_call_bytes(struct scene *scene, const char *bytes, size_t len, const char *key)
{
    redisReply *reply =
        redisCommand(scene->redis, STORAGE_MODULE_COMMAND " 10,20,30 " SCENE_FLEET " 2 %b %s %s",
                     bytes, len, STORAGE_FLEET_KEY, key);
    assert_non_null(reply);
    return reply;
}

redisReply *scene_call(struct scene *scene, const char *arguments, const char *key)
{
    char blob[BLOB_MAX];
    const size_t len = blob_of(arguments, blob);
    return scene_call_bytes(scene, blob, len, key);
}
