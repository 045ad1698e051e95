/* The calls of the ledger, the sample resource: accounts that are read, claimed and written under
 * fencing tokens.
 *
 *     GET  /v1/accounts/{id}          a plain read
 *     POST /v1/accounts/{id}/claim    raise the guard to the token, then read
 *     PUT  /v1/accounts/{id}          write under the token, and If-Match if sent
 *     GET  /v1/rejections             what was refused, newest first
 *
 * Each is answered before its handler returns. What is stored, and how, is the program's: it puts a
 * backend behind the calls. */
#ifndef SERVER_LEDGER_ROUTES_H
#define SERVER_LEDGER_ROUTES_H

#include "api/http/route.h"
#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    API_ACCOUNT_ID_MAX = 64,    /* characters of an account's id */
    API_MEMO_MAX = 256,         /* bytes of UTF-8 without control characters */
    API_REJECTIONS_SHOWN = 100, /* the most that one answer lists */
};

/* A balance lies within plus or minus this: like a token, it fits a double. */
#define API_BALANCE_MAX ((INT64_C(1) << 53) - 1)

/* Strings that a backend hands out are its own, and stay until its next call. */
struct api_account {
    const char *id;
    int64_t balance;
    const char *memo;
    int64_t version; /* from 1 */
    int64_t token;   /* of the last write; 0: it brought none */
};

struct api_account_write {
    const char *id;
    int64_t balance;
    const char *memo;
    int64_t token;            /* 0: none was sent; only where they are optional */
    int64_t expected_version; /* 0: none was sent */
};

/* Why a token or a version was refused. */
struct api_account_refusal {
    int64_t highest_token; /* with FENCE_ESTALE */
    int64_t version;       /* with FENCE_ECONFLICT: the account's; 0: there is no account */
};

struct api_account_rejection {
    int64_t at_ms; /* wall clock, since 1970 */
    const char *resource;
    const char *kind; /* "claim", "write", ... */
    int64_t token;
    int64_t highest_token;
};

/* What the calls need from the program. Ids passed id_valid(), tokens and versions are well-formed,
 * balances and memos within their bounds. Any call may fail with FENCE_EBUSY, FENCE_EIO or
 * FENCE_ENOMEM, and has then changed nothing; telling the operator why is the backend's part. */
struct api_ledger_backend {
    void *context;
    bool tokens_optional; /* unguarded */

    bool (*id_valid)(const char *id);

    /* FENCE_ENOENT: no such account. */
    int (*read)(void *context, const char *id, struct api_account *ret_account);

    /* FENCE_ENOENT: no such account, but the claim stands. FENCE_ESTALE. */
    int (*claim)(void *context, const char *id, int64_t token, struct api_account *ret_account,
                 struct api_account_refusal *ret_refusal);

    /* FENCE_ESTALE, FENCE_ECONFLICT. */
    int (*write)(void *context, const struct api_account_write *write,
                 struct api_account *ret_account, bool *ret_created,
                 struct api_account_refusal *ret_refusal);

    /* The newest, newest first. */
    int (*rejections)(void *context,
                      struct api_account_rejection ret_rejections[static API_REJECTIONS_SHOWN],
                      size_t *ret_count);
};

/* The routes; @backend is borrowed for the life of the server. */
struct api_routes api_ledger_routes(struct api_ledger_backend *backend);

#endif
