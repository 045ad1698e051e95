/* The guard rule: how a resource judges a token. Pure. A guard stores the highest token seen, and
 * applies this rule in the same transaction as the write. storage/guard/sqlite/guard.h is a guard
 * for SQLite.
 *
 * Source: M. Kleppmann, "How to do distributed locking" (2016), "Making the lock safe with
 * fencing"; antirez, "Is Redlock safe?" (2016) for the variant by identity. */
#ifndef FENCE_GUARD_GUARD_H
#define FENCE_GUARD_GUARD_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Judges a claim or a write with @token at a resource whose highest seen token is @highest (0: none
 * yet). Returns 0 and sets *@ret_highest to the token that the guard must store durably before
 * anything else happens. FENCE_ESTALE: @token is older; the caller must stop its work and acquire
 * again. FENCE_EINVAL: @token is not 1 .. FENCE_TOKEN_MAX.
 *
 * An equal token is allowed: one holder writes many times under one grant. */
FENCE_CHECKED int fence_guard_judge(int64_t highest, int64_t token, int64_t *ret_highest);

/* The highest tokens that the guard of a read-write lock has seen at a resource. 0: none yet. */
struct fence_guard {
    /* The highest token of a writer. */
    int64_t writer;

    /* The highest token of a reader. */
    int64_t reader;
};

/* Judges a claim or a write of the writer with @token. The token of a writer must not be below the
 * highest writer's, and must be above the highest reader's: an admitted reader ends the right of
 * every earlier writer. Returns 0 and sets *@ret_seen to the tokens that the guard must store
 * durably before anything else happens. Errors as for fence_guard_judge(). Without a reader the
 * rule is the rule of fence_guard_judge(). */
FENCE_CHECKED int fence_guard_judge_write(const struct fence_guard *seen, int64_t token,
                                          struct fence_guard *ret_seen);

/* Judges a claim or a read of the reader with @token. The token of a reader must not be below the
 * highest writer's; other readers do not matter. Returns 0 and sets *@ret_seen to the tokens that
 * the guard must store durably before the first read. Otherwise a late writer is still admitted,
 * and the reader sees the half of its write that comes after the read. Errors as for
 * fence_guard_judge(). */
FENCE_CHECKED int fence_guard_judge_read(const struct fence_guard *seen, int64_t token,
                                         struct fence_guard *ret_seen);

/* Returns the token that refused the writer with @token, after FENCE_ESTALE: the highest writer's,
 * or else the highest reader's. Sets *@ret_is_reader to true in the second case. */
int64_t fence_guard_refusing(const struct fence_guard *seen, int64_t token, bool *ret_is_reader);

/* Judges by identity, without order: accepts a write only if @lock_id claimed last. Returns 0 or
 * FENCE_ESTALE.
 *
 * The limit of this variant: it cannot tell an older claim from a newer one. A holder that slept
 * before its claim takes the resource from its successor, whose next write is then refused. No
 * update is lost, since each writer read after its claim, but the rightful holder is refused. Use
 * it only if there is no ordered token. */
FENCE_CHECKED int fence_guard_judge_id(const char *claimed_id, const char *lock_id);

/* Reports whether @token is a valid token. */
bool fence_token_valid(int64_t token);

#endif
