#include "storage/redis/module/store.h"

#include <assert.h>

/* The steps of a rejoin stay in Lua. */
const struct fence_master_store storage_module_store = {
    .lock = storage_module_get_lock,
    .put_lock = storage_module_put_lock,
    .drop_lock = storage_module_drop_lock,
    .counter = storage_module_get_counter,
    .put_counter = storage_module_put_counter,
    .named = storage_module_get_named,
    .put_named = storage_module_put_named,
    .names = storage_module_get_names,
    .wait = storage_module_wait,
    .notify = storage_module_notify,
    .next = storage_module_get_next,
    .put_next = storage_module_put_next,
    .broken = storage_module_get_broken,
    .put_broken = storage_module_put_broken,
};

void storage_module_store_begin(struct storage_module_store *store,
                                const struct storage_module_request *request,
                                struct redis_string **keys)
{
    assert(!store->found.key);
    store->request = request;
    store->keys = keys;
    store->failure = STORAGE_MODULE_FINE;
    store->failed_at = 0;
    store->looks = 0;
    store->found.read = false;
    store->found.k = 0;
}

void storage_module_store_end(struct storage_module_store *store)
{
    storage_module_close_found(store);
}
