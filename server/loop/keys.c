#include "server/loop/keys.h"

#include "api/wire/listen.h"
#include "server/system/log.h"
#include "server/system/options.h"

#include <sodium.h>

static int refuse_public(const char *address)
{
    (void)server_options_error(
        "--listen %s: every caller that reaches this address could make every call, because there "
        "is no key file. Give a key file with --keys, or listen on 127.0.0.1, or use --open to "
        "allow every caller",
        address);
    return SERVER_EXIT_USAGE;
}

static bool may_be_public(const struct server_http_options *options)
{
    return options->keys != NULL || options->open;
}

int server_keys_check_listens(const struct server_http_options *options)
{
    for (unsigned i = 0; i < options->listens.address_count && !may_be_public(options); i++)
        if (api_listen_is_public(options->listens.address[i]))
            return refuse_public(options->listens.address[i]);
    return SERVER_EXIT_DONE;
}

int server_keys_check_listeners(const struct server_http_options *options,
                                const struct server_listeners *listeners)
{
    for (unsigned i = 0; i < listeners->count && !may_be_public(options); i++)
        if (!listeners->listener[i].metrics_only &&
            api_listen_socket_is_public(listeners->listener[i].fd[0]))
            return refuse_public(listeners->listener[i].name);
    return SERVER_EXIT_DONE;
}

int server_keys_open(const struct server_http_options *options, struct api_keyring **ret_ring)
{
    char why[API_KEYS_WHY_MAX] = "";
    struct api_keys *keys = NULL;
    struct api_keyring *ring = NULL;
    if (options->keys == NULL) {
        *ret_ring = NULL;
        return SERVER_EXIT_DONE;
    }
    if (sodium_init() < 0) {
        (void)server_options_error("the operating system returned no random numbers");
        return SERVER_EXIT_FAILED;
    }
    if (api_keys_load(options->keys, why, &keys) != 0) {
        (void)server_options_error("--keys %s", why);
        return SERVER_EXIT_USAGE;
    }
    const unsigned count = api_keys_count(keys);
    if (api_keyring_new(keys, &ring) != 0) {
        api_keys_unref(keys);
        (void)server_options_error("--keys %s: out of memory", options->keys);
        return SERVER_EXIT_FAILED;
    }
    if (count == 0)
        server_log(SERVER_LOG_WARNING,
                   "the key file %s has no keys, so every call is refused. Add the line that pawl "
                   "key new prints",
                   options->keys);
    *ret_ring = ring;
    return SERVER_EXIT_DONE;
}

bool server_keys_reload(const struct server_http_options *options, struct api_keyring *ring)
{
    char why[API_KEYS_WHY_MAX] = "";
    struct api_keys *keys = NULL;
    if (ring == NULL)
        return true;
    if (api_keys_load(options->keys, why, &keys) != 0) {
        server_log(SERVER_LOG_ERROR, "the keys were not reloaded: %s", why);
        return false;
    }
    server_log(SERVER_LOG_INFO, "%u keys are in force, from %s", api_keys_count(keys),
               options->keys);
    api_keyring_swap(ring, keys);
    return true;
}
