/* The calls of the ledger, the sample resource: accounts that are read, claimed and written under
 * fencing tokens.
 *
 *     GET  /v1/accounts/{id}          a plain read
 *     POST /v1/accounts/{id}/claim    raise the guard to the token, then read
 *     PUT  /v1/accounts/{id}          write under the token, and If-Match if sent
 *     GET  /v1/accounts?after=        accounts by id, page by page, and what their guards have seen
 *     GET  /v1/rejections             what was refused, newest first
 *
 * The name of an account, for the prefixes of a key, is accounts/{id}. Accounts of other names
 * than those of the key are left out, and so is what was refused on them.
 *
 * Each is answered before its handler returns, and may wait for the disk. Failures in the database
 * are logged here. */
#ifndef SERVER_LEDGER_ROUTES_H
#define SERVER_LEDGER_ROUTES_H

#include "api/http/route.h"
#include "server/ledger/tables.h"

enum {
    LEDGER_REJECTIONS_SHOWN = 100, /* the most that one answer lists */
    LEDGER_ACCOUNTS_SHOWN = 100,
};

/* The routes over @ledger, which is borrowed for the life of the server. It may be opened after
 * this, before anything is served. */
struct api_routes ledger_routes(struct ledger *ledger);

#endif
