#include "server/pawld/tls.h"

#include "api/tls/check.h"
#include "fence/protocol/error.h"
#include "server/system/options.h"

#include <errno.h>
#include <stdbool.h>

static bool need_tls(const struct storage_redis_url urls[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (urls[i].is_tls)
            return true;
    return false;
}

static void give_tls(struct storage_redis_url urls[], unsigned count, const struct storage_tls *tls)
{
    for (unsigned i = 0; i < count; i++)
        urls[i].tls = urls[i].is_tls ? tls : NULL;
}

/* Checks a file: OpenSSL accepts the readable part of a truncated file. */
static error_t check_master_file(const char *option, const char *path)
{
    char why[API_TLS_WHY_MAX];
    if (path == NULL || api_tls_check_file(option, path, why) == 0)
        return 0;
    return server_options_error("%s", why);
}

error_t pawld_tls_give(struct pawld_options *options)
{
    const struct storage_tls_files *files = &options->tls_files;
    char why[STORAGE_TLS_WHY_MAX] = "";
    if ((files->cert == NULL) != (files->key == NULL))
        return server_options_error("--master-cert and --master-key go together: give both");
    if (!need_tls(options->masters, options->masters_count) &&
        !need_tls(options->from, options->from_count)) {
        if (files->ca || files->cert)
            return server_options_error(
                "--master-ca and --master-cert need a master with a rediss:// URL");
        return 0;
    }
    if (check_master_file("--master-ca", files->ca) ||
        check_master_file("--master-cert", files->cert) ||
        check_master_file("--master-key", files->key))
        return SERVER_OPTIONS_TOLD;
    const int error = storage_tls_new(files, &options->tls, why);
    if (error)
        return server_options_error("%s", why[0] ? why : fence_strerror(error));
    give_tls(options->masters, options->masters_count, options->tls);
    give_tls(options->from, options->from_count, options->tls);
    return 0;
}
