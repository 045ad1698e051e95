#include "server/ledger/backend.h"

#include "server/system/log.h"

#include <assert.h>

/* api/ and storage/ do not know each other; each has its own name for the same bounds. */
static_assert((int)API_ACCOUNT_ID_MAX == (int)STORAGE_ACCOUNT_ID_MAX, "the bounds of an id differ");
static_assert((int)API_MEMO_MAX == (int)STORAGE_MEMO_MAX, "the bounds of a memo differ");
/* NOLINTNEXTLINE(misc-redundant-expression): they are equal, which is the point */
static_assert(API_BALANCE_MAX == STORAGE_BALANCE_MAX, "the bounds of a balance differ");
static_assert((int)API_REJECTIONS_SHOWN <= (int)STORAGE_REJECTIONS_MAX, "more are shown than kept");

/* What the database had to complain about is told here, where it can be mended. */
static void log_failure(const struct server_ledger_backend *backend, const char *call, int err)
{
    if (backend->ledger->error[0] == '\0')
        return;
    if (err == FENCE_ESTALE)
        server_log_few(SERVER_LOG_WARNING, 0,
                       "%s: refused a stale token, but could not record it: %s", call,
                       backend->ledger->error);
    else
        server_log_few(SERVER_LOG_ERROR, 0, "%s failed: %s", call, backend->ledger->error);
}

static struct api_account show(const struct storage_account *account)
{
    return (struct api_account){
        .id = account->id,
        .balance = account->balance,
        .memo = account->memo,
        .version = account->version,
        .token = account->token,
    };
}

static int read_account(void *context, const char *id, struct api_account *ret_account)
{
    struct server_ledger_backend *backend = context;
    int err = storage_ledger_read(backend->ledger, id, &backend->account);
    log_failure(backend, "read", err);
    if (!err)
        *ret_account = show(&backend->account);
    return err;
}

static int claim_account(void *context, const char *id, int64_t token,
                         struct api_account *ret_account, struct api_account_refusal *ret_refusal)
{
    struct server_ledger_backend *backend = context;
    struct api_account_refusal refusal = {.highest_token = 0};
    int err =
        storage_ledger_claim(backend->ledger, id, token, &backend->account, &refusal.highest_token);
    log_failure(backend, "claim", err);
    if (err == FENCE_ESTALE)
        *ret_refusal = refusal;
    if (!err)
        *ret_account = show(&backend->account);
    return err;
}

static int write_account(void *context, const struct api_account_write *write,
                         struct api_account *ret_account, bool *ret_created,
                         struct api_account_refusal *ret_refusal)
{
    struct server_ledger_backend *backend = context;
    const struct storage_ledger_write wanted = {
        .id = write->id,
        .balance = write->balance,
        .memo = write->memo,
        .token = write->token,
        .expected_version = write->expected_version,
    };
    struct storage_ledger_written written = {.created = false};
    int err = storage_ledger_write(backend->ledger, &wanted, &written);
    log_failure(backend, "write", err);
    if (err == FENCE_ESTALE || err == FENCE_ECONFLICT)
        *ret_refusal = (struct api_account_refusal){written.highest_token, written.version};
    if (err)
        return err;
    backend->account = written.account;
    *ret_account = show(&backend->account);
    *ret_created = written.created;
    return 0;
}

static const char *kind_name(enum storage_rejection_kind kind)
{
    switch (kind) {
    case STORAGE_REJECTED_CLAIM:
        return "claim";
    case STORAGE_REJECTED_WRITE:
        return "write";
    case STORAGE_REJECTED_WRITE_BY_ID:
        return "write-by-id";
    }
    return "unknown"; /* a row from another version of this program */
}

static int list_rejections(void *context,
                           struct api_account_rejection ret_rejections[static API_REJECTIONS_SHOWN],
                           size_t *ret_count)
{
    struct server_ledger_backend *backend = context;
    size_t count = 0;
    int err = storage_ledger_rejections(backend->ledger, API_REJECTIONS_SHOWN, backend->rejections,
                                        &count);
    log_failure(backend, "rejections", err);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++) {
        const struct storage_rejection *rejection = &backend->rejections[i];
        ret_rejections[i] = (struct api_account_rejection){
            .at_ms = rejection->at_ms,
            .resource = rejection->resource,
            .kind = kind_name(rejection->kind),
            .token = rejection->token,
            .highest_token = rejection->highest_token,
        };
    }
    *ret_count = count;
    return 0;
}

void server_ledger_backend_init(struct server_ledger_backend *backend,
                                struct storage_ledger *ledger)
{
    *backend = (struct server_ledger_backend){.ledger = ledger};
    backend->api = (struct api_ledger_backend){
        .context = backend,
        .tokens_optional = !ledger->guarded,
        .id_valid = storage_account_id_valid,
        .read = read_account,
        .claim = claim_account,
        .write = write_account,
        .rejections = list_rejections,
    };
}
