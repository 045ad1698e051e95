/* The names that clients give: resources, lock ids, labels of owners. */
#ifndef FENCE_PROTOCOL_NAME_H
#define FENCE_PROTOCOL_NAME_H

#include "fence/protocol/error.h"
#include "fence/protocol/lock_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if @name (@len bytes, need not be terminated) is a resource name. That is 1 to
 * FENCE_RESOURCE_MAX bytes of A-Z a-z 0-9 . _ ~ : @ / - in segments between slashes. No segment is
 * empty, "." or "..": HTTP clients rewrite those, so two names would silently become one. */
bool fence_resource_valid(const char *name, size_t len);

/* True if @id is FENCE_LOCK_ID_MIN to FENCE_LOCK_ID_MAX characters of base64url. */
bool fence_lock_id_valid(const char *id, size_t len);

/* True if @label is at most FENCE_LABEL_MAX bytes of well-formed UTF-8 without control characters
 * (C0, DEL, C1). Well-formed is as in RFC 3629: no overlong forms, no surrogates. Empty is valid:
 * no label. */
bool fence_label_valid(const char *label, size_t len);

/* Keys on a master, for people: problems name them. The first stands before a resource and makes
 * the key of its lock. The second is the hash with all counters, whose fields are the slots. */
#define FENCE_LOCK_KEY  "pawl:lock:"
#define FENCE_FLEET_KEY "pawl:fleet"

/* Between the name of seats and the index of a seat (fence/protocol/seat.h). No resource has it. */
#define FENCE_SEAT_MARK '#'

/* The counter slot of a resource: CRC-16/XMODEM mod FENCE_SLOTS, over the whole name; of a seat,
 * over the name before its '#' (fence/protocol/seat.h). A client can compute it with any library
 * for that checksum. */
unsigned fence_slot(const char *name, size_t len);

/* A 64-bit hash of @len bytes that is the same in each process, also of other versions. Anybody can
 * find two texts of one hash, whatever @seed is: fence_keyed_hash() is for what outsiders choose.
 */
unsigned long fence_hash(const void *bytes, size_t len, unsigned long seed);

#endif
