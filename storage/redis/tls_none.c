/* Replaces tls.c if hiredis has no TLS. */
#include "storage/redis/tls.h"

#include <stdio.h>

bool storage_tls_is_built(void)
{
    return false;
}

int storage_tls_new(const struct storage_tls_files *files, struct storage_tls **ret_tls,
                    char ret_why[static STORAGE_TLS_WHY_MAX])
{
    (void)files, (void)ret_tls;
    snprintf(ret_why, STORAGE_TLS_WHY_MAX, "this pawld was built without TLS to masters");
    return FENCE_EINVAL;
}

void storage_tls_free(struct storage_tls *tls)
{
    (void)tls;
}

int storage_tls_start(const struct storage_tls *tls, const char *host, struct redisContext *context,
                      char ret_why[static STORAGE_TLS_WHY_MAX])
{
    (void)tls, (void)host, (void)context;
    ret_why[0] = '\0';
    return FENCE_EIO;
}

bool storage_tls_is_spoken(const struct redisContext *context)
{
    (void)context;
    return false;
}

void storage_tls_forget_errors(void)
{
}

bool storage_tls_wrong(const struct redisContext *context, char *ret_text, size_t cap)
{
    (void)context, (void)cap;
    ret_text[0] = '\0';
    return false;
}
