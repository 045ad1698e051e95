/* The parts of a client: its options, and what the environment adds to them. */
#include "api/client/client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALL_TIMEOUT_DEFAULT_MS = 5000,
    CALL_TIMEOUT_MOST_MS = 600000,
};

/* ---- certificates ---------------------------------------------------------------------------- */

static int take_file(pawl_client *client, const char *given, const char *variable,
                     char ret_path[static CLIENT_FILE_MAX])
{
    const char *path = given != NULL ? given : getenv(variable);
    if (path == NULL)
        return 0;
    if (strnlen(path, CLIENT_FILE_MAX) == CLIENT_FILE_MAX)
        return client_wrong(client, "", "the path of %s has more than %d bytes", variable,
                            CLIENT_FILE_MAX - 1);
    (void)snprintf(ret_path, CLIENT_FILE_MAX, "%s", path);
    return 0;
}

static int take_files(pawl_client *client, const struct pawl_options *options)
{
    struct client_tls *tls = &client->tls;
    int error = take_file(client, options->ca_file, "PAWL_CA_FILE", tls->ca_file);
    if (error == 0)
        error = take_file(client, options->cert, "PAWL_CERT", tls->cert);
    if (error == 0)
        error = take_file(client, options->cert_key, "PAWL_CERT_KEY", tls->cert_key);
    return error;
}

/* A byte that is no part of a word would end the header. */
static int take_key(pawl_client *client, const char *given)
{
    const char *key = given != NULL ? given : getenv("PAWL_KEY");
    if (key == NULL)
        return 0;
    const size_t len = strnlen(key, PAWL_KEY_MAX + 1);
    bool is_word = len <= PAWL_KEY_MAX;
    for (size_t i = 0; i < len; i++)
        is_word = is_word && key[i] > ' ' && key[i] <= '~';
    if (!is_word)
        return client_wrong(client, given != NULL ? "" : "PAWL_KEY: ",
                            "a key must be one word of at most %d bytes", PAWL_KEY_MAX);
    memcpy(client->key, key, len + 1);
    return 0;
}

/* ---- client ---------------------------------------------------------------------------------- */

/* PAWL_EINVAL: the client's reason says what is wrong. */
static int take_options(pawl_client *client, const struct pawl_options *options)
{
    assert(client->server_count == 0);
    static const struct pawl_options defaults = {.server_count = 0};
    if (options == NULL)
        options = &defaults;
    if (options->call_timeout_ms < 0 || options->call_timeout_ms > CALL_TIMEOUT_MOST_MS)
        return client_wrong(client, "", "call_timeout_ms must be 0 to %d", CALL_TIMEOUT_MOST_MS);
    client->call_timeout_ms =
        options->call_timeout_ms > 0 ? options->call_timeout_ms : CALL_TIMEOUT_DEFAULT_MS;
    int error = client_take_servers(client, options);
    if (error == 0)
        error = take_files(client, options);
    return error == 0 ? take_key(client, options->key) : error;
}

int pawl_options_check(const struct pawl_options *options, char *ret_reason, size_t size)
{
    pawl_client *client = calloc(1, sizeof(*client));
    if (client == NULL)
        return PAWL_ENOMEM;
    const int error = take_options(client, options);
    if (error < 0)
        (void)snprintf(ret_reason, size, "%s", client->reason);
    pawl_client_free(client);
    return error;
}

static void init_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

int pawl_client_new(const struct pawl_options *options, pawl_client **ret_client)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pawl_client *client = calloc(1, sizeof(*client));
    if (client == NULL)
        return PAWL_ENOMEM;
    client->owner = client_owner_here();
    atomic_init(&client->give_up_ms, INT64_MAX);
    atomic_init(&client->cancelled, false);
    int error = take_options(client, options);
    if (error < 0)
        goto out;
    (void)pthread_once(&once, init_curl);
    client->curl = curl_easy_init();
    client->held = client_held_new();
    if (client->curl == NULL || client->held == NULL)
        error = PAWL_ENOMEM;
out:
    if (error < 0)
        pawl_client_free(client);
    else
        *ret_client = client;
    return error;
}

void pawl_client_free(pawl_client *client)
{
    if (client == NULL)
        return;
    /* A thread of the parent may have been at work with these: a child leaves their memory. */
    if (client_owner_is_here(&client->owner)) {
        curl_easy_cleanup(client->curl);
        client_held_leave(client->held, NULL);
    }
    explicit_bzero(client->key, sizeof(client->key));
    free(client);
}
