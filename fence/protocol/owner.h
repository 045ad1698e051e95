/* The owner of a lock as masters keep it: who holds it, for people, and the delay of the lock. A
 * lock without a delay opens as its lease ends. Only a client that asks for a delay gets one, and
 * masters store it with the lock, so that any server that extends the lock keeps its delay.
 *
 *     [FENCE_WRITER_MARK] <label> [FENCE_DELAY_SEPARATOR <delay in ms>] [FENCE_OWNER_SEPARATOR <key
 * id>]
 *
 * The mark is on each seat, and on the gate, of a writer (fence/protocol/seat.h): a seat by itself
 * tells whether a reader or a writer has it.
 * The key id is there if the grant was asked for with a key. The client chooses the label, and a
 * label has no control character. So no client can name a key that is not its own. Pure. */
#ifndef FENCE_PROTOCOL_OWNER_H
#define FENCE_PROTOCOL_OWNER_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FENCE_WRITER_MARK     '\x1d' /* GS, the group separator of ASCII */
#define FENCE_DELAY_SEPARATOR '\x1e' /* RS, the record separator of ASCII */
#define FENCE_OWNER_SEPARATOR '\x1f' /* US, the unit separator of ASCII */

/* True if @id is FENCE_KEY_ID_MIN to FENCE_KEY_ID_MAX characters of a-z 0-9 - and begins with none
 * but a letter or a digit. */
bool fence_key_id_valid(const char *id, size_t len);

/* True if @owner is of the form above: a valid label (fence_label_valid()), a delay of 1 to
 * FENCE_TTL_CEILING_MS if there is one, the id of a key if there is one. Each owner that a
 * master reports is checked by this function before it is stored. */
bool fence_owner_valid(const char *owner, size_t len);

/* Writes the owner, terminated. @label is valid; @delay_ms is 0 for none, at most
 * FENCE_TTL_CEILING_MS; @key_id is valid, or "" for none. */
void fence_owner_join(const char *label, uint32_t delay_ms, const char *key_id,
                      char ret_owner[static FENCE_OWNER_MAX + 1]);

/* Marks @owner as a writer's. Precondition: @owner has room, and no mark. */
void fence_owner_mark_writer(char owner[static FENCE_OWNER_MAX + 1]);

/* True if @owner is marked as a writer's. */
bool fence_owner_writes(const char *owner);

/* Copies the label, terminated, and returns the id of the key: "" if there is none, else a part of
 * @owner. An @owner of at most FENCE_OWNER_MAX bytes that is not valid is a label as a whole. */
const char *fence_owner_split(const char *owner, char ret_label[static FENCE_OWNER_MAX + 1]);

/* The delay that @owner names; 0: it names none, or is not valid. */
uint32_t fence_owner_delay_ms(const char *owner);

#endif
