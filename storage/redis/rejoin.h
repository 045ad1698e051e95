/* The scripts that take a master back (storage/redis/lua/mark, clear, record, read, install, admit,
 * survey): what goes into each, and what its reply says. */
#ifndef STORAGE_REDIS_REJOIN_H
#define STORAGE_REDIS_REJOIN_H

#include "fence/protocol/error.h"
#include "fence/protocol/rejoin_message.h"

#include <hiredis/hiredis.h>

/* A master that works answers others in between: each of these is about a millisecond of it. */
enum {
    STORAGE_CLEAR_AT_A_TIME = 1000,    /* keys that a step of clearing looks at */
    STORAGE_COUNTERS_AT_A_TIME = 1024, /* counters of a page */
    STORAGE_LOCKS_AT_A_TIME = 500,     /* keys that are looked at for a page of locks */
};

/* The command for @request to member @to of @n (counted from 0), as hiredis formats it; freed with
 * redisFreeCommand(). FENCE_ENOMEM. */
FENCE_CHECKED int storage_rejoin_command(const struct fence_rejoin_request *request, unsigned to,
                                         unsigned n, char **ret_command, size_t *ret_len);

/* The meaning of @reply (NULL: none will come) to the step @step says. A page points into @reply.
 * @view is where the reply points to; it belongs to the caller, and lives as long as the reply is
 * used. */
struct fence_rejoin_reply storage_rejoin_reply(enum fence_rejoin_step step, const redisReply *reply,
                                               unsigned n, struct fence_view *view);

/* Reports whether a script was refused for the view it named; *@ret_view is then what that master
 * knows. */
bool storage_view_refused(const redisReply *reply, unsigned n, struct fence_view *ret_view);

#endif
