/* The names that clients give: resources, lock ids, labels of owners. */
#ifndef FENCE_PROTOCOL_NAME_H
#define FENCE_PROTOCOL_NAME_H

#include "fence/protocol/error.h"
#include "fence/protocol/lock_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reports whether @name (@len bytes, need not be terminated) is a resource name. That is 1 to
 * FENCE_RESOURCE_MAX bytes of A-Z a-z 0-9 . _ ~ : @ / - in segments between slashes. No segment is
 * empty, "." or "..": HTTP clients rewrite such segments, so two names would silently become
 * one. */
bool fence_resource_valid(const char *name, size_t len);

/* Reports whether @id is FENCE_LOCK_ID_MIN to FENCE_LOCK_ID_MAX characters of base64url. */
bool fence_lock_id_valid(const char *id, size_t len);

/* Reports whether @label is at most FENCE_LABEL_MAX bytes of well-formed UTF-8 without control
 * characters (C0, DEL, C1). RFC 3629 defines well-formed: no overlong forms, no surrogates. The
 * empty label is valid. */
bool fence_label_valid(const char *label, size_t len);

/* Keys on a master, as messages for people name them. The first is a prefix: with the resource
 * behind it, it is the key of the lock. The second is the hash of all counters; its fields are the
 * slots. */
#define FENCE_LOCK_KEY  "pawl:lock:"
#define FENCE_FLEET_KEY "pawl:fleet"

/* Stands between the name of seats and the index of a seat (fence/protocol/seat.h). No resource
 * name contains it. */
#define FENCE_SEAT_MARK '#'

/* Returns the counter slot of a resource: CRC-16/XMODEM mod FENCE_SLOTS, over the whole name. For a
 * seat, over the name before its '#' (fence/protocol/seat.h). A client can compute the slot with
 * any library for that checksum. */
unsigned fence_slot(const char *name, size_t len);

/* Returns a 64-bit hash of @len bytes that is the same in each process and in each version of Pawl.
 * An attacker can find two texts with the same hash, for any @seed. For text that outsiders choose,
 * use fence_keyed_hash(). */
unsigned long fence_hash(const void *bytes, size_t len, unsigned long seed);

#endif
