/* The questions to a Redis, on every new connection (the handshake) and now and then after that (a
 * probe); and the parser of its replies. */
#ifndef STORAGE_REDIS_FACTS_H
#define STORAGE_REDIS_FACTS_H

#include "fence/protocol/error.h"
#include "storage/redis/reading.h"

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/* The handshake's questions, in the order of their replies. */
enum storage_question {
    STORAGE_ASK_INFO,
    STORAGE_ASK_CONFIG,
    STORAGE_ASK_MARKER,
    STORAGE_QUESTIONS,
};

enum {
    STORAGE_QUESTION_ARGS = 27,
    STORAGE_BYTES_TEXT_MAX = 24, /* for a count of bytes, with its end */
};

/* The command that asks @question, as an argument vector of static strings. Returns the number of
 * arguments. */
int storage_question_args(enum storage_question question,
                          const char *ret_args[static STORAGE_QUESTION_ARGS]);

/* Reads the reply to @question into @reading, in the order of the questions: the last one completes
 * the facts. A fleet of @n members is expected. If a Redis refuses a command (CONFIG), the reply
 * may be an error: the fact is then unknown. FENCE_EIO: no Redis answers so (or LOADING, or NOPERM
 * on our own keys). FENCE_EBUSY: it still loads its data; try the handshake again later. An
 * unreadable marker is no error: the facts name the field. */
FENCE_CHECKED int storage_facts_read(enum storage_question question, const redisReply *reply,
                                     unsigned n, struct storage_reading *reading);

/* Notes whether a trial write found no room. */
void storage_redis_note_full(struct storage_reading *reading, bool full);

/* The question in the pipeline behind a script call, about a fact that the script cannot see:
 * whether the master is durable. The second function reports whether the reply says so. */
const char *storage_durable_command(size_t *ret_len);
bool storage_durable_reply(const redisReply *reply);

/* Reads the reply to TIME: the wall clock, in microseconds since 1970. 0: the reply is not what a
 * Redis answers, or this Redis refuses the command. */
uint64_t storage_facts_time_us(const redisReply *reply);

#endif
