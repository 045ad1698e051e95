#include "server/loop/http_tls.h"

#include "api/tls/keys.h"
#include "server/system/log.h"
#include "server/system/options.h"

static const char *why_or(const char *why, int error)
{
    return why[0] != '\0' ? why : fence_strerror(error);
}

static void log_risk(const char *sentence)
{
    server_log(SERVER_LOG_WARNING, "%s", sentence);
}

int server_http_tls_open(const struct server_tls_options *options, struct api_tls **ret_tls)
{
    char why[API_TLS_WHY_MAX];
    const struct api_tls_config config = {
        .cert = options->cert,
        .key = options->key,
        .client_ca = options->client_ca,
        .client_optional = options->client == SERVER_TLS_OPTIONAL,
        .priorities = options->priorities,
        .warn = log_risk,
    };
    *ret_tls = NULL;
    if ((options->cert == NULL) != (options->key == NULL)) {
        (void)server_options_error("TLS needs both --tls-cert and --tls-key: give both");
        return SERVER_EXIT_USAGE;
    }
    if (options->cert == NULL && (options->client_ca != NULL || options->priorities != NULL)) {
        (void)server_options_error("--tls-client-ca and --tls-priorities are for TLS: give "
                                   "--tls-cert and --tls-key, too");
        return SERVER_EXIT_USAGE;
    }
    if (options->cert == NULL)
        return 0;
    const int error = api_tls_new(&config, ret_tls, why);
    if (error == 0)
        return 0;
    server_log(SERVER_LOG_ERROR, "cannot serve TLS: %s", why_or(why, error));
    return SERVER_EXIT_FAILED;
}

bool server_http_tls_reload(struct api_tls *tls)
{
    char why[API_TLS_WHY_MAX];
    const int error = tls != NULL ? api_tls_reload(tls, why) : 0;
    if (error != 0)
        server_log(SERVER_LOG_ERROR, "the certificates were not reloaded: %s", why_or(why, error));
    return error == 0;
}
