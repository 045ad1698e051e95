/* The scripts for the rejoin of a master (storage/redis/lua/mark, clear, record, read, install,
 * admit, survey): the arguments and replies of each. */
#ifndef STORAGE_REDIS_REJOIN_H
#define STORAGE_REDIS_REJOIN_H

#include "fence/protocol/error.h"
#include "fence/protocol/rejoin_message.h"

#include <hiredis/hiredis.h>

/* A master that works answers other calls in between: each of these takes it about a
 * millisecond. */
enum {
    STORAGE_CLEAR_AT_A_TIME = 1000,    /* keys that a step of clearing looks at */
    STORAGE_COUNTERS_AT_A_TIME = 1024, /* counters of a page */
    STORAGE_LOCKS_AT_A_TIME = 500,     /* keys that are looked at for a page of locks */
};

/* The command for @request to member @to of @n (counted from 0), as hiredis formats it; freed with
 * redisFreeCommand(). FENCE_ENOMEM. */
FENCE_CHECKED int storage_rejoin_command(const struct fence_rejoin_request *request, unsigned to,
                                         unsigned n, char **ret_command, size_t *ret_len);

/* Interprets @reply (NULL: none will come) to the step @step. A page points into @reply. The reply
 * may point to @view, which belongs to the caller and must live as long as the reply. */
struct fence_rejoin_reply storage_rejoin_reply(enum fence_rejoin_step step, const redisReply *reply,
                                               unsigned n, struct fence_view *view);

/* Reports whether a script was refused because of its view; *@ret_view is then the view of that
 * master. */
bool storage_view_refused(const redisReply *reply, unsigned n, struct fence_view *ret_view);

#endif
