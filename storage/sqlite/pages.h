/* Pages of counters and locks, which one master reads for another that is taken back. A page is
 * JSON: {"floor": n, "counters": [[slot, number], ...]}, {"floor": n, "named": [[name, number],
 * ...]}, or {"locks": [[resource, lock id, attempt, number, extensions, sources, owner,
 * milliseconds left], ...]}. */
#ifndef STORAGE_SQLITE_PAGES_H
#define STORAGE_SQLITE_PAGES_H

#include "storage/sqlite/state.h"

/* The page that @request asks for: @reply's page and cursor. *@ret_page is what the page borrows,
 * to be freed with sqlite3_free(). False: no memory. */
bool storage_pages_read(struct storage_state *state, const struct fence_rejoin_request *request,
                        struct fence_rejoin_reply *reply, char **ret_page);

/* Merges @page, which master @source wrote. Commutative and idempotent. */
void storage_pages_merge(struct storage_state *state, const struct fence_page *page,
                         unsigned source);

#endif
