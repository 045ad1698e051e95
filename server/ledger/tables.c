#include "server/ledger/tables.h"

#include "fence/guard/guard.h"
#include "fence/protocol/name.h"
#include "storage/guard/sqlite/guard.h"
#include "storage/sql/sql.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define RESOURCE_PREFIX "accounts/"

struct resource_name {
    char text[sizeof RESOURCE_PREFIX + LEDGER_ID_MAX];
};
static_assert(sizeof(struct resource_name) <= FENCE_RESOURCE_MAX + 1,
              "every account has a resource");

/* The fence resource of an account whose id is valid. */
static struct resource_name resource_of(const char *id)
{
    struct resource_name resource;
    int len = snprintf(resource.text, sizeof resource.text, "%s%s", RESOURCE_PREFIX, id);
    assert(len > 0 && (size_t)len < sizeof resource.text);
    return resource;
}

bool ledger_id_valid(const char *id)
{
    size_t len = strlen(id);
    /* A resource name of one segment, without the ':' and '@' that it could have. */
    return len <= LEDGER_ID_MAX && fence_resource_valid(id, len) && !strpbrk(id, "/:@");
}

/* ---- the table ------------------------------------------------------------------------------- */

static int install(sqlite3 *db)
{
    return storage_sql_exec(db, "CREATE TABLE IF NOT EXISTS account ("
                                "  id TEXT PRIMARY KEY,"
                                "  balance INTEGER NOT NULL,"
                                "  memo TEXT NOT NULL,"
                                "  version INTEGER NOT NULL,"
                                "  token INTEGER NOT NULL) STRICT, WITHOUT ROWID");
}

/* The columns of a row that begins with those of an account. */
static void take_account(struct storage_sql *sql, struct ledger_account *account)
{
    storage_sql_column_text(sql, 0, account->id, sizeof account->id);
    account->balance = sqlite3_column_int64(sql->stmt, 1);
    storage_sql_column_text(sql, 2, account->memo, sizeof account->memo);
    account->version = sqlite3_column_int64(sql->stmt, 3);
    account->token = sqlite3_column_int64(sql->stmt, 4);
}

static int select_account(sqlite3 *db, const char *id, struct ledger_account *ret_account)
{
    struct ledger_account account = {.version = 0}; /* versions start at 1: 0 is "no row" */
    struct storage_sql sql = storage_sql_prepare(
        db, "SELECT id, balance, memo, version, token FROM account WHERE id = ?1");
    storage_sql_bind_text(&sql, 1, id);
    if (storage_sql_row(&sql))
        take_account(&sql, &account);
    int err = storage_sql_finish(&sql);
    if (err)
        return err;
    if (account.version == 0)
        return FENCE_ENOENT;
    *ret_account = account;
    return 0;
}

static int upsert_account(sqlite3 *db, const struct ledger_account *account)
{
    struct storage_sql sql = storage_sql_prepare(
        db, "INSERT INTO account (id, balance, memo, version, token) VALUES (?1, ?2, ?3, ?4, ?5)"
            "  ON CONFLICT (id) DO UPDATE SET balance = excluded.balance, memo = excluded.memo,"
            "    version = excluded.version, token = excluded.token");
    storage_sql_bind_text(&sql, 1, account->id);
    storage_sql_bind_int(&sql, 2, account->balance);
    storage_sql_bind_text(&sql, 3, account->memo);
    storage_sql_bind_int(&sql, 4, account->version);
    storage_sql_bind_int(&sql, 5, account->token);
    return storage_sql_run(&sql);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Keeps the text of a failed database before the next call on it wipes it out. */
static void keep_error(struct ledger *ledger, int err)
{
    if (err == FENCE_EIO || err == FENCE_EBUSY || err == FENCE_ENOMEM)
        snprintf(ledger->error, sizeof ledger->error, "%s", storage_guard_error(ledger->db));
}

static int begin_transaction(struct ledger *ledger)
{
    int err = storage_guard_begin(ledger->db);
    keep_error(ledger, err);
    return err;
}

/* Ends a transaction that came to @err: commits it, or rolls it back. Returns the final error.
 */
static int end_transaction(struct ledger *ledger, int err)
{
    if (!err)
        err = storage_guard_commit(ledger->db);
    keep_error(ledger, err);
    if (err)
        storage_guard_rollback(ledger->db);
    return err;
}

/* Puts a refusal on record, past its own transaction. The refusal stands even if this fails, which
 * only ledger->error tells. */
static void record(struct ledger *ledger, const struct storage_rejection *rejection)
{
    int err = begin_transaction(ledger);
    if (err)
        return;
    err = end_transaction(ledger, storage_rejection_record(ledger->db, rejection));
    assert(!err || ledger->error[0] != '\0');
}

/* ---- the calls ------------------------------------------------------------------------------- */

int ledger_init(struct ledger *ledger, const char *path, bool guarded)
{
    *ledger = (struct ledger){.guarded = guarded};
    int err = storage_guard_open(path, ledger->error, sizeof ledger->error, &ledger->db);
    if (err)
        return err;
    err = storage_guard_install(ledger->db);
    if (!err)
        err = install(ledger->db);
    if (err) {
        keep_error(ledger, err);
        ledger_fini(ledger);
    }
    return err;
}

void ledger_fini(struct ledger *ledger)
{
    int code = sqlite3_close(ledger->db);
    assert(code == SQLITE_OK); /* no statement outlives its call */
    ledger->db = NULL;
}

int ledger_read(struct ledger *ledger, const char *id, struct ledger_account *ret_account)
{
    ledger->error[0] = '\0';
    if (!ledger_id_valid(id))
        return FENCE_EINVAL;
    int err = select_account(ledger->db, id, ret_account);
    keep_error(ledger, err);
    return err;
}

int ledger_claim(struct ledger *ledger, const char *id, int64_t token,
                 struct ledger_account *ret_account, int64_t *ret_highest)
{
    if (!ledger->guarded)
        return ledger_read(ledger, id, ret_account);

    ledger->error[0] = '\0';
    if (!ledger_id_valid(id))
        return FENCE_EINVAL;
    int err = begin_transaction(ledger);
    if (err)
        return err;
    struct storage_rejection rejection = {.highest_token = 0};
    struct ledger_account account = {.version = 0};
    bool found = false;
    err = storage_guard_claim(ledger->db, resource_of(id).text, token, &rejection);
    if (!err) {
        err = select_account(ledger->db, id, &account);
        found = !err;
        if (err == FENCE_ENOENT)
            err = 0; /* there is none, and that was read: the claim stands */
    }
    err = end_transaction(ledger, err);
    if (err == FENCE_ESTALE) {
        record(ledger, &rejection);
        *ret_highest = rejection.highest_token;
    }
    if (err)
        return err;
    if (!found)
        return FENCE_ENOENT;
    *ret_account = account;
    return 0;
}

static bool write_valid(const struct ledger *ledger, const struct ledger_write *write)
{
    bool token_valid = fence_token_valid(write->token) || (!ledger->guarded && write->token == 0);
    return token_valid && ledger_id_valid(write->id) && write->balance >= -LEDGER_BALANCE_MAX &&
           write->balance <= LEDGER_BALANCE_MAX && strlen(write->memo) <= LEDGER_MEMO_MAX;
}

/* The writing itself, within the transaction and past the guard. */
static int write_account(sqlite3 *db, const struct ledger_write *write,
                         struct ledger_written *written)
{
    struct ledger_account *account = &written->account;
    int err = select_account(db, write->id, account);
    if (err && err != FENCE_ENOENT)
        return err;
    written->created = err == FENCE_ENOENT;
    written->version = account->version;
    if (write->expected_version != 0 && write->expected_version != account->version)
        return FENCE_ECONFLICT;
    snprintf(account->id, sizeof account->id, "%s", write->id);
    snprintf(account->memo, sizeof account->memo, "%s", write->memo);
    account->balance = write->balance;
    account->token = write->token;
    account->version++;
    return upsert_account(db, account);
}

int ledger_write(struct ledger *ledger, const struct ledger_write *write,
                 struct ledger_written *ret_written)
{
    ledger->error[0] = '\0';
    if (!write_valid(ledger, write))
        return FENCE_EINVAL;
    int err = begin_transaction(ledger);
    if (err)
        return err;
    struct storage_rejection rejection = {.highest_token = 0};
    struct ledger_written written = {.created = false};
    if (ledger->guarded)
        err =
            storage_guard_check(ledger->db, resource_of(write->id).text, write->token, &rejection);
    if (!err)
        err = write_account(ledger->db, write, &written);
    err = end_transaction(ledger, err);
    if (err == FENCE_ESTALE) {
        record(ledger, &rejection);
        written.highest_token = rejection.highest_token;
    }
    if (!err || err == FENCE_ESTALE || err == FENCE_ECONFLICT)
        *ret_written = written;
    return err;
}

static int select_accounts(sqlite3 *db, const struct ledger_listing *listing,
                           struct ledger_listed *listed, size_t *ret_count)
{
    size_t count = 0;
    struct storage_sql sql = storage_sql_prepare(
        db, "SELECT id, balance, memo, version, token, coalesce(highest_token, 0)"
            "  FROM account LEFT JOIN pawl_guard ON resource = '" RESOURCE_PREFIX "' || id"
            "  WHERE id > ?1 ORDER BY id");
    storage_sql_bind_text(&sql, 1, listing->after);
    while (count < listing->max && storage_sql_row(&sql)) {
        take_account(&sql, &listed[count].account);
        listed[count].highest_token = sqlite3_column_int64(sql.stmt, 5);
        count += listing->wants(listing->context, listed[count].account.id);
    }
    int err = storage_sql_finish(&sql);
    if (!err)
        *ret_count = count;
    return err;
}

int ledger_list(struct ledger *ledger, const struct ledger_listing *listing,
                struct ledger_listed *listed, size_t *ret_count)
{
    ledger->error[0] = '\0';
    int err = select_accounts(ledger->db, listing, listed, ret_count);
    keep_error(ledger, err);
    return err;
}

int ledger_rejections(struct ledger *ledger, size_t max, struct storage_rejection *rejections,
                      size_t *ret_count)
{
    ledger->error[0] = '\0';
    int err = storage_rejection_list(ledger->db, max, rejections, ret_count);
    keep_error(ledger, err);
    return err;
}
