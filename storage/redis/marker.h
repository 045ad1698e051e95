/* The marker: the fields of the fleet hash that tell to which fleet this master belongs, and the
 * notes about it. The scripts write the fields (storage/redis/lua/mark.lua); a handshake and a
 * probe read them. */
#ifndef STORAGE_REDIS_MARKER_H
#define STORAGE_REDIS_MARKER_H

#include "fence/protocol/error.h"
#include "storage/redis/reading.h"

#include <hiredis/hiredis.h>

/* In the order of the question. */
enum storage_marker_field {
    STORAGE_MARKER_FLEET,
    STORAGE_MARKER_MEMBER,
    STORAGE_MARKER_RUN, /* of the process that was admitted */
    STORAGE_MARKER_TTL, /* the longest lease of the fleet */
    STORAGE_MARKER_DURABLE,
    STORAGE_MARKER_STATE,
    STORAGE_MARKER_VIEW,
    STORAGE_MARKER_LINEAGE,
    STORAGE_MARKER_NEXT, /* the incarnation that a rejoin is to get */
    STORAGE_MARKER_PROGRESS,
    STORAGE_MARKER_INIT,
    STORAGE_MARKER_SETS,
    STORAGE_MARKER_UNSWEPT,
    STORAGE_MARKER_BYTES,
    STORAGE_MARKER_INTACT,
    STORAGE_MARKER_DOUBT,
    STORAGE_MARKER_READERS,    /* the same */
    STORAGE_MARKER_EXTENSIONS, /* absent in a fleet that was made before it could be set */
    STORAGE_MARKER_CLOSED,     /* the only field of a master whose fleet was moved */
    STORAGE_MARKER_ANSWERS,
    STORAGE_MARKER_FLOOR,
    STORAGE_MARKER_NAMES,
    STORAGE_MARKER_WRITES, /* absent where only an older pawld wrote to this master */
    STORAGE_MARKER_POSITIONS,
    STORAGE_MARKER_PREDECESSORS, /* absent where no fleet was moved */
    STORAGE_MARKER_FIELDS,       /* how many there are */
};

const char *storage_marker_field_name(enum storage_marker_field field);

/* Reads the answer to STORAGE_ASK_MARKER, of a fleet of @n members, after the answers to INFO and
 * CONFIG. A blank or malformed marker counts as none. FENCE_EIO: it is no such answer. */
FENCE_CHECKED int storage_marker_read(const redisReply *reply, unsigned n,
                                      struct storage_reading *reading);

#endif
