#include "server/loop/http_options.h"

#include "server/system/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_HEAD = 0x200, /* distinct from the option numbers of the programs */
    OPTION_BODY,
    OPTION_HOST,
    OPTION_KEYS,
    OPTION_OPEN,
    OPTION_LISTEN,
    OPTION_METRICS_LISTEN,
    OPTION_CORS_ORIGIN,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_TLS_CLIENT_CA,
    OPTION_TLS_CLIENT,
    OPTION_TLS_PRIORITIES,
};

static error_t read_wait(const char *option, const char *text, uint32_t *ret_ms)
{
    int64_t ms = 0;
    if (!server_options_number(text, API_HTTP_WAIT_MIN_MS, API_HTTP_WAIT_MAX_MS, &ms))
        return server_options_error("%s takes a number of milliseconds from %d to %d, not '%s'",
                                    option, API_HTTP_WAIT_MIN_MS, API_HTTP_WAIT_MAX_MS, text);
    *ret_ms = (uint32_t)ms;
    return 0;
}

static error_t add_host(struct server_http_options *options, const char *text)
{
    if (options->hosts_count == SERVER_HOSTS_MAX)
        return server_options_error("--host can be given at most %d times", SERVER_HOSTS_MAX);
    if (!api_site_is_name(text))
        return server_options_error("--host takes a name such as locks.example.com, without scheme "
                                    "or port, not '%s'",
                                    text);
    options->hosts[options->hosts_count++] = text;
    return 0;
}

/* The first address replaces the program's default listeners. */
static error_t add_listen(struct server_http_options *options, const char *text)
{
    struct server_listens *listens = &options->listens;
    if (!options->listens_given)
        listens->address_count = 0;
    options->listens_given = true;
    if (listens->address_count == SERVER_LISTENS_MAX)
        return server_options_error("--listen can be given at most %d times", SERVER_LISTENS_MAX);
    listens->address[listens->address_count++] = text;
    return 0;
}

static error_t add_origin(struct server_http_options *options, const char *text)
{
    if (options->origins_count == API_ORIGINS_MAX)
        return server_options_error("--cors-origin can be given at most %d times", API_ORIGINS_MAX);
    if (!api_cors_is_origin(text))
        return server_options_error("--cors-origin takes " SERVER_CORS_MUST ", not '%s'", text);
    options->origins[options->origins_count++] = text;
    return 0;
}

static error_t add_metrics_listen(struct server_http_options *options, const char *text)
{
    struct server_listens *listens = &options->listens;
    if (listens->metrics_count == SERVER_LISTENS_MAX)
        return server_options_error("--metrics-listen can be given at most %d times",
                                    SERVER_LISTENS_MAX);
    listens->metrics[listens->metrics_count++] = text;
    return 0;
}

const char *const server_tls_client_words[] = {
    [SERVER_TLS_REQUIRED] = "required", [SERVER_TLS_OPTIONAL] = "optional", NULL};

static error_t read_tls_client(struct server_tls_options *tls, const char *text)
{
    for (int i = 0; server_tls_client_words[i] != NULL; i++) {
        if (strcmp(text, server_tls_client_words[i]) != 0)
            continue;
        tls->client = i;
        return 0;
    }
    return server_options_error("--tls-client takes required or optional, not '%s'", text);
}

static error_t parse_tls_option(int key, const char *text, struct server_tls_options *tls)
{
    switch (key) {
    case OPTION_TLS_CERT:
        tls->cert = text;
        return 0;
    case OPTION_TLS_KEY:
        tls->key = text;
        return 0;
    case OPTION_TLS_CLIENT_CA:
        tls->client_ca = text;
        return 0;
    case OPTION_TLS_CLIENT:
        return read_tls_client(tls, text);
    case OPTION_TLS_PRIORITIES:
        tls->priorities = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_http_option(int key, char *text, struct argp_state *state)
{
    struct server_http_options *options = state->input;
    switch (key) {
    case OPTION_HEAD:
        return read_wait("--head-timeout-ms", text, &options->head_ms);
    case OPTION_BODY:
        return read_wait("--body-timeout-ms", text, &options->body_ms);
    case OPTION_HOST:
        return add_host(options, text);
    case OPTION_KEYS:
        options->keys = text;
        return 0;
    case OPTION_OPEN:
        options->open = true;
        return 0;
    case OPTION_CORS_ORIGIN:
        return add_origin(options, text);
    case OPTION_LISTEN:
        return add_listen(options, text);
    case OPTION_METRICS_LISTEN:
        return add_metrics_listen(options, text);
    case ARGP_KEY_END:
        server_http_options_settle(options);
        return 0;
    default:
        return parse_tls_option(key, text, &options->tls);
    }
}

static const struct argp_option list[] = {
    {"listen", OPTION_LISTEN, "ADDRESS", 0,
     "HTTP address to listen on: HOST:PORT, :PORT for all addresses of the machine, or unix:/PATH. "
     "HOST is an IP address, or a name that the service resolves once, at its start. Port 0 picks "
     "a free port. Can be given up to 8 times (default: 127.0.0.1, with port 7380 for pawld and "
     "port 7381 for pawl-ledger)",
     0},
    {"metrics-listen", OPTION_METRICS_LISTEN, "ADDRESS", 0,
     "Address to listen on for /metrics, /livez and /readyz only. Can be given up to 8 times. The "
     "--listen addresses serve these paths, too",
     0},
    {"host", OPTION_HOST, "NAME", 0,
     "A name, without port, that the service accepts in the Host header. Can be given up to 16 "
     "times. The service always accepts IP addresses and localhost, and refuses other names",
     0},
    {"keys", OPTION_KEYS, "FILE", 0,
     "Key file with one line for each key of a client, as printed by pawl key new. Without this "
     "setting, every caller that reaches the service has all rights",
     0},
    {"open", OPTION_OPEN, NULL, 0,
     "Without --keys: also listen on addresses that other machines can reach. Every caller then "
     "has all rights",
     0},
    {"head-timeout-ms", OPTION_HEAD, "MS", 0,
     "Maximum time for the request line and headers to arrive, 100 to 3600000 (default 10000)", 0},
    {"body-timeout-ms", OPTION_BODY, "MS", 0,
     "Maximum time for the request body to arrive, 100 to 3600000 (default 10000)", 0},
    {"cors-origin", OPTION_CORS_ORIGIN, "ORIGIN", 0, SERVER_CORS_HELP, 0},
    {"tls-cert", OPTION_TLS_CERT, "FILE", 0, SERVER_TLS_CERT_HELP, 0},
    {"tls-key", OPTION_TLS_KEY, "FILE", 0, SERVER_TLS_KEY_HELP, 0},
    {"tls-client-ca", OPTION_TLS_CLIENT_CA, "FILE", 0, SERVER_TLS_CLIENT_CA_HELP, 0},
    {"tls-client", OPTION_TLS_CLIENT, "HOW", 0, SERVER_TLS_CLIENT_HELP " (default required)", 0},
    {"tls-priorities", OPTION_TLS_PRIORITIES, "TEXT", 0, SERVER_TLS_PRIORITIES_HELP, 0},
    {0},
};

const struct argp server_http_argp = {.options = list, .parser = parse_http_option};

void server_http_options_settle(struct server_http_options *options)
{
    unsigned names = 0;
    options->known_count = 0;
    for (unsigned i = 0; i < options->hosts_count; i++)
        options->known[options->known_count++] = options->hosts[i];
    for (unsigned i = 0; i < options->listens.address_count; i++)
        if (server_listen_name(options->listens.address[i], options->listen_names[names]))
            options->known[options->known_count++] = options->listen_names[names++];
}

void server_http_options_apply(const struct server_http_options *options,
                               struct api_http_config *config)
{
    config->head_ms = options->head_ms;
    config->body_ms = options->body_ms;
    config->idle_s = options->idle_s;
    config->origins =
        (struct api_origins){.items = options->origins, .count = options->origins_count};
    config->hosts = (struct api_hosts){.names = options->known, .count = options->known_count};
}
