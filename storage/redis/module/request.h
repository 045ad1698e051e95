/* The requests of a call, parsed from their letters and arguments (storage/redis/request.h writes
 * them, storage/redis/lua/requests.lua is the other reader). Pure: it reads untrusted bytes. */
#ifndef STORAGE_REDIS_MODULE_REQUEST_H
#define STORAGE_REDIS_MODULE_REQUEST_H

#include "fence/protocol/message.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    STORAGE_MODULE_LOCKS_MAX = 256, /* that one call is about */
};

/* Bytes that somebody else keeps. */
struct storage_module_bytes {
    const char *at;
    size_t len;
};

/* The part of a call that is not read yet. */
struct storage_module_reader {
    const char *at; /* start of the arguments: bulk strings of RESP, one behind the other, */
    const char *end;
    const struct storage_module_bytes *keys; /* and the keys of the locks */
    unsigned keys_left;
    struct storage_module_extension {        /* the last one, for STORAGE_ALSO */
        struct storage_module_bytes lock_id; /* .len is 0: there was none */
        uint32_t ttl_ms;
        uint32_t cap;
    } extension;
};

struct storage_module_request {
    char letter;
    unsigned locks;               /* that it is about: so many keys of the call are its own */
    bool counted;                 /* a server may count on its writes: of COUNT alone */
    struct fence_request request; /* points to what follows */
    char resource[FENCE_RESOURCE_MAX + 1];
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    struct fence_group group;
};

/* Reports whether another request follows. */
bool storage_module_has_more(const struct storage_module_reader *reader);

/* Reads the next request. False: what comes next is none; @ret_request is then of no use. */
FENCE_CHECKED bool storage_module_read(struct storage_module_reader *reader,
                                       struct storage_module_request *ret_request);

#endif
