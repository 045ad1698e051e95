/* pawld: the lock service. Without a command it serves. "pawld init" makes a fleet and exits;
 * "pawld move" moves a fleet and exits. */
#include "api/tls/keys.h"
#include "fence/protocol/lock_id.h"
#include "server/loop/http_tls.h"
#include "server/loop/keys.h"
#include "server/loop/routes.h"
#include "server/pawld/settings.h"
#include "server/system/options.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

static char init_name[] = "pawld init"; /* how argp calls them in its messages */
static char move_name[] = "pawld move";

static void print_routes(void)
{
    struct api_backend none = {.context = NULL};
    struct api_routes routes[SERVER_ROUTES];
    server_routes(&none, routes);
    server_routes_print(routes, SERVER_ROUTES);
}

/* Checks the files of keys and of TLS, and the addresses. */
static int check_files(const struct pawld_options *options)
{
    struct api_keyring *ring = NULL;
    struct api_tls *tls = NULL;
    int status = server_keys_open(&options->http, &ring);
    if (status == SERVER_EXIT_DONE)
        status = server_http_tls_open(&options->http.tls, &tls);
    if (status == SERVER_EXIT_DONE)
        status = server_listeners_check(&options->http.listens, tls);
    api_tls_free(tls);
    api_keyring_free(ring);
    return status;
}

static int print_only(const struct pawld_options *options)
{
    int status = SERVER_EXIT_DONE;
    if (options->samples)
        pawld_settings_sample();
    else if (options->routes)
        print_routes();
    else if ((status = check_files(options)) == SERVER_EXIT_DONE)
        pawld_settings_show(options);
    return status || fflush(stdout) == 0 ? status : SERVER_EXIT_FAILED;
}

static int run_pawld(int argc, char **argv, struct pawld_options *ret_options)
{
    if (argc > 1 && strcmp(argv[1], "init") == 0) {
        argv[1] = init_name;
        int status = pawld_read_init_options(argc - 1, argv + 1, ret_options);
        return status ? status : pawld_init(ret_options);
    }
    if (argc > 1 && strcmp(argv[1], "move") == 0) {
        argv[1] = move_name;
        int status = pawld_read_move_options(argc - 1, argv + 1, ret_options);
        return status ? status : pawld_move(ret_options);
    }
    int status = pawld_read_serve_options(argc, argv, ret_options);
    if (status)
        return status;
    if (ret_options->samples || ret_options->checks || ret_options->routes)
        return print_only(ret_options);
    return pawld_serve(ret_options);
}

/* Sets the key for hashes of lock ids. Clients choose lock ids: without the key no client finds two
 * lock ids with the same hash. */
static void key_lock_ids(void)
{
    uint64_t key[2];
    randombytes_buf(key, sizeof(key));
    fence_lock_id_key(key);
    sodium_memzero(key, sizeof(key));
}

int main(int argc, char **argv)
{
    struct pawld_options options = {0};
    server_options_streams();
    server_options_signals();
    if (sodium_init() < 0) {
        (void)server_options_error("the operating system returned no random numbers");
        return SERVER_EXIT_FAILED;
    }
    key_lock_ids();
    const int status = run_pawld(argc, argv, &options);
    storage_tls_free(options.tls);
    return status;
}
