/* The addresses of the masters: the URLs in the options, or a file in the data folder. */
#include "server/pawld/pawld.h"
#include "server/system/options.h"
#include "storage/sqlite/store.h"

int pawld_addresses_open(const struct pawld_options *options, bool takes_over,
                         struct server_addresses *ret_addresses)
{
    if (!options->data) {
        *ret_addresses = (struct server_addresses){.n = options->masters_count,
                                                   .urls = options->masters,
                                                   .refuses_module = options->refuses_module};
        return SERVER_EXIT_DONE;
    }
    const struct storage_file_config file = {
        .folder = options->data,
        .members = 1,
        .takes_over = takes_over,
    };
    struct storage_sqlite_store *store = NULL;
    char why[STORAGE_WHY_MAX];
    if (storage_sqlite_store_open(&file, &store, why) != 0) {
        (void)server_options_error("%s", why);
        return SERVER_EXIT_FAILED;
    }
    *ret_addresses = (struct server_addresses){.n = 1, .store = store};
    return SERVER_EXIT_DONE;
}
