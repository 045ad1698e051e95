/* What to ask a Redis: on every new connection (the handshake), and now and then after that (a
 * look). And what its replies say. */
#ifndef STORAGE_REDIS_FACTS_H
#define STORAGE_REDIS_FACTS_H

#include "fence/error.h"
#include "fence/fleet.h"

#include <hiredis/hiredis.h>

/* The handshake's questions, in the order of their replies. */
enum storage_question {
    STORAGE_ASK_INFO,
    STORAGE_ASK_CONFIG,
    STORAGE_ASK_MARKER,
    STORAGE_QUESTIONS,
};

enum {
    STORAGE_QUESTION_ARGS = 12,
};

/* The command that asks @question, as an argument vector of static strings. Returns the number of
 * arguments. */
int storage_question_args(enum storage_question question,
                          const char *ret_args[static STORAGE_QUESTION_ARGS]);

/* Reads the reply to @question into @facts, which starts zeroed, or with what an earlier look
 * found; a fleet of @n members is expected. The reply may be an error where a Redis keeps a command
 * from us (CONFIG): the fact is then unknown. FENCE_EIO where it is not what a Redis answers
 * (LOADING, NOPERM on our own keys): shake hands again later. FENCE_EINVAL: the marker is
 * malformed. */
FENCE_CHECKED int storage_facts_read(enum storage_question question, const redisReply *reply,
                                     unsigned n, struct fence_facts *facts);

/* Reads the reply to TIME: the wall clock, in microseconds since 1970. 0 where it is not what a
 * Redis answers, or this one keeps the command from us. */
uint64_t storage_facts_time_us(const redisReply *reply);

#endif
