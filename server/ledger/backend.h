/* The ledger's HTTP calls over the ledger's storage. */
#ifndef SERVER_LEDGER_BACKEND_H
#define SERVER_LEDGER_BACKEND_H

#include "server/ledger/routes.h"
#include "server/ledger/tables.h"

/* The caller's memory, not to be moved after the init: it holds what its answers point to. */
struct server_ledger_backend {
    struct api_ledger_backend api; /* for api_ledger_routes() */
    struct storage_ledger *ledger;
    struct storage_account account;
    struct storage_rejection rejections[API_REJECTIONS_SHOWN];
};

/* @ledger is borrowed as long as @backend is used. */
void server_ledger_backend_init(struct server_ledger_backend *backend,
                                struct storage_ledger *ledger);

#endif
