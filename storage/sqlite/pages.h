/* Pages of counters and locks, which one master writes for another that rejoins. A page is JSON:
 * {"floor": n, "counters": [[slot, number], ...]}, {"floor": n, "named": [[name, number], ...]}, or
 * {"locks": [[resource, lock id, attempt, number, extensions, sources, owner, milliseconds left],
 * ...]}. */
#ifndef STORAGE_SQLITE_PAGES_H
#define STORAGE_SQLITE_PAGES_H

#include "storage/sqlite/state.h"

/* As fence_master_store.read_page and .merge_page; the context is the struct storage_state. The
 * borrowed memory of the page of @reply is in storage_state.page. */
bool storage_pages_read(void *context, const struct fence_rejoin_request *request,
                        struct fence_rejoin_reply *reply);
void storage_pages_merge(void *context, const struct fence_page *page, unsigned source);

#endif
