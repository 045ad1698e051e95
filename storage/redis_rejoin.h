/* The scripts that take a master back (storage/lua/claim, wipe, record, admit): what goes into
 * each, and what its reply says. */
#ifndef STORAGE_REDIS_REJOIN_H
#define STORAGE_REDIS_REJOIN_H

#include "fence/error.h"
#include "fence/rejoin.h"

#include <hiredis/hiredis.h>

enum {
    STORAGE_WIPE_AT_A_TIME = 1000, /* keys a step of the wipe looks at */
    STORAGE_READ_AT_A_TIME = 1024, /* counters that one call answers: about a millisecond */
};

/* The command for @request to member @to of @n (counted from 0), as hiredis formats it; freed with
 * redisFreeCommand(). FENCE_ENOMEM. */
FENCE_CHECKED int storage_rejoin_command(const struct fence_rejoin_request *request, unsigned to,
                                         unsigned n, char **ret_command, size_t *ret_len);

/* What @reply (NULL: none will come) to the step @step says. @counters and @view are where the
 * reply points to; they belong to the caller, and live as long as the reply is used. */
struct fence_rejoin_reply storage_rejoin_reply(enum fence_rejoin_step step, const redisReply *reply,
                                               unsigned n, struct fence_counters *counters,
                                               struct fence_view *view);

/* Whether a script was refused for the view it named; *@ret_view is then what that master knows. */
bool storage_view_refused(const redisReply *reply, unsigned n, struct fence_view *ret_view);

#endif
