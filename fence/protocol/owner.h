/* The owner of a lock as masters store it: the holder, as people read it, and the delay of the
 * lock. A lock without a delay is free when its lease ends. A lock has a delay only if its client
 * asks for one. Masters store the delay with the lock, so any server that extends the lock keeps
 * the delay.
 *
 *     [FENCE_WRITER_MARK] <label> [FENCE_DELAY_SEPARATOR <delay in ms>]
 *         [FENCE_OWNER_SEPARATOR <key id>]
 *
 * Each seat of a writer, and its gate, has the mark (fence/protocol/seat.h): each seat alone shows
 * whether a reader or a writer has it. The key id is there if the client used a key. The client
 * chooses the label, but a label has no control character. So a client cannot name a key that
 * belongs to another client. Pure. */
#ifndef FENCE_PROTOCOL_OWNER_H
#define FENCE_PROTOCOL_OWNER_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FENCE_WRITER_MARK     '\x1d' /* GS, the group separator of ASCII */
#define FENCE_DELAY_SEPARATOR '\x1e' /* RS, the record separator of ASCII */
#define FENCE_OWNER_SEPARATOR '\x1f' /* US, the unit separator of ASCII */

/* Reports whether @id is FENCE_KEY_ID_MIN to FENCE_KEY_ID_MAX characters of a-z 0-9 - and begins
 * with a letter or a digit. */
bool fence_key_id_valid(const char *id, size_t len);

/* Reports whether @owner has the form above: a valid label (fence_label_valid()), an optional delay
 * of 1 to FENCE_TTL_CEILING_MS, an optional key id. Pawl checks each owner that a master reports
 * with this function before it stores the owner. */
bool fence_owner_valid(const char *owner, size_t len);

/* Writes the owner, terminated. @label is valid; @delay_ms is 0 for none, at most
 * FENCE_TTL_CEILING_MS; @key_id is valid, or "" for none. */
void fence_owner_join(const char *label, uint32_t delay_ms, const char *key_id,
                      char ret_owner[static FENCE_OWNER_MAX + 1]);

/* Marks @owner as a writer's. Precondition: @owner has room for the mark, and no mark yet. */
void fence_owner_mark_writer(char owner[static FENCE_OWNER_MAX + 1]);

/* Reports whether @owner is marked as a writer's. */
bool fence_owner_writes(const char *owner);

/* Copies the label, terminated. Returns the key id: a part of @owner, or "" if there is none. If an
 * @owner of at most FENCE_OWNER_MAX bytes is not valid, all of it is the label. */
const char *fence_owner_split(const char *owner, char ret_label[static FENCE_OWNER_MAX + 1]);

/* Returns the delay that @owner names; 0: @owner names none, or is not valid. */
uint32_t fence_owner_delay_ms(const char *owner);

#endif
