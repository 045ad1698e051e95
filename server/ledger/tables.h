/* The ledger, the sample resource: accounts in one SQLite file, each guarded under the fence
 * resource accounts/{id} (storage/guard/sqlite/guard.h). It shows a program over a guard: claim and
 * read in one transaction, check and write in another, refusals on record.
 *
 * Errors of every call, beside those named at each. FENCE_EBUSY: another process kept the file
 * locked for STORAGE_BUSY_TIMEOUT_MS; try again. FENCE_ENOMEM. FENCE_EIO: the operator must look. A
 * call that failed has changed nothing. The text of what failed in the database stays in
 * ledger->error until the next call; it is empty where nothing did.
 *
 * A ledger belongs to one thread. Every call may wait for the disk. */
#ifndef SERVER_LEDGER_TABLES_H
#define SERVER_LEDGER_TABLES_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"
#include "storage/guard/sqlite/rejection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

enum {
    LEDGER_ID_MAX = 64,    /* characters of A-Z a-z 0-9 . _ ~ - ; not "." nor ".." */
    LEDGER_MEMO_MAX = 256, /* bytes of UTF-8 */
    LEDGER_ERROR_TEXT_MAX = 255,
};

/* A balance lies within plus or minus this: like a token, it fits a double. */
#define LEDGER_BALANCE_MAX ((INT64_C(1) << 53) - 1)

struct ledger_account {
    char id[LEDGER_ID_MAX + 1];
    int64_t balance;
    char memo[LEDGER_MEMO_MAX + 1];
    int64_t version; /* 1 when created, one more with each write */
    int64_t token;   /* token of the last write; 0 where it brought none (unguarded only) */
};

/* The caller's memory; @db is open between init and fini, and NULL otherwise. */
struct ledger {
    sqlite3 *db;
    bool guarded;
    char error[LEDGER_ERROR_TEXT_MAX + 1];
};

/* Opens or creates the file at @path. With @guarded false tokens are optional and not looked at:
 * the control of an experiment, of no other use. On an error ledger->error holds the reason
 * (FENCE_EINVAL: not a durable file). Nothing is left to be undone: a fini does nothing then.
 */
FENCE_CHECKED int ledger_init(struct ledger *ledger, const char *path, bool guarded);
void ledger_fini(struct ledger *ledger);

/* True if @id is an account's id: see LEDGER_ID_MAX. */
bool ledger_id_valid(const char *id);

/* Reads an account, no token asked. FENCE_ENOENT: there is none. FENCE_EINVAL: not an id. */
FENCE_CHECKED int ledger_read(struct ledger *ledger, const char *id,
                              struct ledger_account *ret_account);

/* Raises the guard of the account to @token, then reads it, in one transaction. FENCE_ENOENT: there
 * is no such account, and the claim stands anyway (the holder may create it). FENCE_ESTALE:
 * refused and on record, *@ret_highest is the highest token seen. FENCE_EINVAL: not an id or not a
 * token. Unguarded: just the read. */
FENCE_CHECKED int ledger_claim(struct ledger *ledger, const char *id, int64_t token,
                               struct ledger_account *ret_account, int64_t *ret_highest);

struct ledger_write {
    const char *id;
    int64_t balance;
    const char *memo;         /* replaced like the balance; "" for none */
    int64_t token;            /* 0 for none: unguarded only */
    int64_t expected_version; /* version of the account as the caller read it; 0: do not compare */
};

struct ledger_written {
    struct ledger_account account; /* as it is now */
    bool created;
    int64_t highest_token; /* on FENCE_ESTALE only */
    int64_t version;       /* on FENCE_ECONFLICT only: the account's; 0: there is none */
};

/* Writes the account, creating it where it does not exist. The token is checked in the same
 * transaction, before the version is compared. FENCE_ESTALE: refused and on record.
 * FENCE_ECONFLICT: the account is at another version. FENCE_EINVAL: an id, token, balance or memo
 * out of its bounds. */
FENCE_CHECKED int ledger_write(struct ledger *ledger, const struct ledger_write *write,
                               struct ledger_written *ret_written);

/* An account, and what its guard has seen; 0: nothing. */
struct ledger_listed {
    struct ledger_account account;
    int64_t highest_token;
};

/* Which accounts are read: the first @max of those behind the id @after that are wanted, in the
 * order of their ids. "" is before all. */
struct ledger_listing {
    const char *after;
    size_t max;
    bool (*wants)(void *context, const char *id);
    void *context;
};

FENCE_CHECKED int ledger_list(struct ledger *ledger, const struct ledger_listing *listing,
                              struct ledger_listed *listed, size_t *ret_count);

/* Reads the newest @max (at most STORAGE_REJECTIONS_MAX) refusals, newest first. */
FENCE_CHECKED int ledger_rejections(struct ledger *ledger, size_t max,
                                    struct storage_rejection *rejections, size_t *ret_count);

#endif
