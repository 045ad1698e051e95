/* One Redis with the module, which is the second member of a fleet of three, and calls to it. */
#ifndef TESTS_INTEGRATION_STORAGE_REDIS_MODULE_SCENE_H
#define TESTS_INTEGRATION_STORAGE_REDIS_MODULE_SCENE_H

#include "tests/lib/redis_fleet.h"

#include <hiredis/hiredis.h>

#define SCENE_FLEET "f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7"
#define SCENE_KEY   "pawl:lock:a"

/* A call with the view, the fleet and the member of the scene; its arguments, as %b, and the key
 * follow. */
#define SCENE_CALL "PAWL.BATCH 10,20,30 " SCENE_FLEET " 2 %b pawl:fleet %s"

struct scene {
    struct redis_fleet *fleet;
    redisContext *redis;
};

/* The setup and the teardown of a case; the scene is in *@state. The second server keeps all on
 * disk, and its marker says durable. */
int scene_start_volatile(void **state);
int scene_start_always(void **state);
int scene_end(void **state);

void scene_connect(struct scene *scene);

/* As pawld admits a master: durable, where it is. */
void scene_admit(struct scene *scene);

/* The reply to a call with these bytes for its arguments, to be freed. And with these words, apart
 * by spaces; "-" is an empty one. */
redisReply *scene_call_bytes(struct scene *scene, const char *bytes, size_t len, const char *key);
redisReply *scene_call(struct scene *scene, const char *arguments, const char *key);

#endif
