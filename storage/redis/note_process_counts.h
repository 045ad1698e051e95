/* The marker's notes about the process of its master: what was counted there, and when the
 * append-only file is known to be complete (storage/redis/lua/note_process_counts.lua). */
#ifndef STORAGE_REDIS_NOTE_PROCESS_COUNTS_H
#define STORAGE_REDIS_NOTE_PROCESS_COUNTS_H

#include "storage/redis/connection.h"
#include "storage/redis/facts.h"

/* Reports whether a probe found something to note: often so at first, then rarely. */
bool storage_note_process_counts_is_due(const struct storage_reading *reading);

/* Sends the note of @member (from 1) behind what was sent before. No call waits for the answer: the
 * next probe reads the note. False: memory is out, and the caller resets the connection. */
bool storage_note_process_counts(struct storage_connection *connection, const char *fleet_id,
                                 unsigned member);

#endif
