/* The lineage of this server's data, and its persistence: strayed() of
 * storage/redis/lua/lineage_check.lua, word for word. The module also reads the settings of a
 * durable master, which pawld asks for behind each script. */
#ifndef STORAGE_REDIS_MODULE_LINEAGE_H
#define STORAGE_REDIS_MODULE_LINEAGE_H

#include "storage/redis/module/api.h"
#include "storage/redis/module/request.h"

#include <stdbool.h>

/* The fields of the marker that were noted when this master was admitted. A field without bytes is
 * not there. */
struct storage_module_noted {
    struct storage_module_bytes lineage;
    struct storage_module_bytes sets;
    struct storage_module_bytes bytes;
    struct storage_module_bytes answers;
    bool durable;
    int64_t incarnation; /* incarnation of this master: it has another one after each admission */
};

enum {
    STORAGE_MODULE_WHY_MAX = 320, /* bytes of the text that refuses a call, with its end */
};

/* Reports whether this server may not act any more; *@ret_why is then why. */
bool storage_module_has_strayed(struct redis_ctx *ctx, const struct storage_module_noted *noted,
                                char ret_why[static STORAGE_MODULE_WHY_MAX]);

#endif
