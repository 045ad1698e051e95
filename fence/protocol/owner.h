/* The owner of a lock as masters keep it: who holds it, for people. To the core it is one opaque
 * text. It is "<label>" where the grant was asked for without a key, and
 * "<label>" FENCE_OWNER_SEPARATOR "<key id>" where it was asked for with one. The client chooses
 * the label, and a label has no control character. So no client can name a key that is not its own.
 * Pure. */
#ifndef FENCE_PROTOCOL_OWNER_H
#define FENCE_PROTOCOL_OWNER_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>

#define FENCE_OWNER_SEPARATOR '\x1f' /* US, the unit separator of ASCII */

/* True if @id is FENCE_KEY_ID_MIN to FENCE_KEY_ID_MAX characters of a-z 0-9 - and begins with none
 * but a letter or a digit. */
bool fence_key_id_valid(const char *id, size_t len);

/* True if @owner is a label (fence_label_valid()), or a label, the separator and the id of a key.
 * What a master says is held against this before it is kept. */
bool fence_owner_valid(const char *owner, size_t len);

/* Writes the owner, terminated. @label is valid; @key_id is valid, or "" for none. */
void fence_owner_join(const char *label, const char *key_id,
                      char ret_owner[static FENCE_OWNER_MAX + 1]);

/* Copies the label, terminated, and returns the id of the key: "" if there is none, else a part of
 * @owner. An @owner of at most FENCE_OWNER_MAX bytes that is not valid is a label as a whole. */
const char *fence_owner_split(const char *owner, char ret_label[static FENCE_OWNER_MAX + 1]);

#endif
