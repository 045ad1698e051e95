/* What both ways of `pawld init` (storage/redis/init.h) begin with: all masters are connected to
 * and looked at, and nothing is written. Only redis_init_*.c include this. */
#ifndef STORAGE_REDIS_INIT_SESSION_H
#define STORAGE_REDIS_INIT_SESSION_H

#include "fence/fleet/fleet.h"
#include "storage/redis/init.h"
#include "storage/redis/replies.h"

#include <stdbool.h>

#include <hiredis/hiredis.h>

struct storage_init_session {
    const struct storage_redis_init *init;
    redisContext *link[FENCE_MASTERS_MAX];
    struct storage_replies replies[FENCE_MASTERS_MAX]; /* to what is asked on those */
    struct fence_facts seen[FENCE_MASTERS_MAX];        /* what the look at each found */
    int64_t meant[FENCE_MASTERS_MAX];  /* the incarnation that this run marked each with; 0: none */
    uint32_t steps[FENCE_MASTERS_MAX]; /* of wiping, since that mark */
    char *why;                         /* STORAGE_WHY_MAX bytes; the first reason stays */
};

/* Empties @why, which takes the reasons from here on. FENCE_EINVAL where @init is out of bounds.
 * Ends with storage_init_fini() either way. */
FENCE_CHECKED int storage_init_begin(struct storage_init_session *session,
                                     const struct storage_redis_init *init,
                                     char why[static STORAGE_WHY_MAX]);
void storage_init_fini(struct storage_init_session *session);

/* They put down why it fails, unless a reason stands there already, and return @error. The second
 * names master @i. */
int storage_init_fail(struct storage_init_session *session, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int storage_init_fail_at(struct storage_init_session *session, unsigned i, int error,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same for a reply that is not what was asked for: an error, or NULL for none. Frees it. */
int storage_init_fail_reply(struct storage_init_session *session, unsigned i, redisReply *reply);

/* Adds to the reason that stands there: what to do now. */
void storage_init_advise(struct storage_init_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Asks master @i, as hiredis formats it: with arguments, or as a whole. NULL: no reply came. The
 * caller frees it. */
redisReply *storage_init_ask(struct storage_init_session *session, unsigned i, int argc,
                             const char *const argv[]);
redisReply *storage_init_send(struct storage_init_session *session, unsigned i, const char *command,
                              size_t len);

/* Connects to all masters and asks each what it is and holds. FENCE_EIO for one that cannot be
 * reached; FENCE_ECONFLICT for one that is unfit whatever it holds, or whose marker cannot be
 * read. */
FENCE_CHECKED int storage_init_look(struct storage_init_session *session);

/* The masters as they were seen, for fence_fleet_judge(): a fleet that has no id yet. */
void storage_init_meet(const struct storage_init_session *session, struct fence_fleet *ret_fleet);

/* True if master @i never was a member: it has no marker, or one of a run of init that did not get
 * to its end. */
bool storage_init_blank(const struct storage_init_session *session, unsigned i);

/* Whether it was claimed so for a fleet that has granted tokens. */
bool storage_init_has_past(const struct storage_init_session *session, unsigned i);

#endif
