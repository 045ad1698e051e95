/* TLS to masters whose URLs begin with rediss://. It needs a build with a hiredis that supports it
 * (1.0 or later, with hiredis_ssl): tls.c. Otherwise tls_none.c reports that it is missing.
 *
 * A master must present a certificate that a trusted CA signed and that is for its host in the
 * URL. */
#ifndef STORAGE_REDIS_TLS_H
#define STORAGE_REDIS_TLS_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>

struct redisContext; /* of hiredis */

enum {
    STORAGE_TLS_WHY_MAX = 512, /* bytes of a sentence about a file */
};

/* Files of PEM. */
struct storage_tls_files {
    const char *ca;   /* CA certificates to trust; NULL: those of the system */
    const char *cert; /* client certificate to present to masters, with its chain; NULL: none */
    const char *key;  /* key of @cert */
};

/* The state that connections share. Any thread may use it once it is made. */
struct storage_tls;

/* Reports whether this build has TLS. If it has none, the functions below fail, or do nothing. */
bool storage_tls_is_built(void);

/* Reads @files. The caller frees *@ret_tls with storage_tls_free(). FENCE_EINVAL: a file is missing
 * or wrong; @ret_why is a sentence about it. FENCE_ENOMEM. */
FENCE_CHECKED int storage_tls_new(const struct storage_tls_files *files,
                                  struct storage_tls **ret_tls,
                                  char ret_why[static STORAGE_TLS_WHY_MAX]);

/* Frees it after the last connection. NULL is fine. */
void storage_tls_free(struct storage_tls *tls);

/* Makes @context, which has just begun to connect, speak TLS with @host (a name or an address).
 * FENCE_EIO, and why in @ret_why: the context cannot be used. */
FENCE_CHECKED int storage_tls_start(const struct storage_tls *tls, const char *host,
                                    struct redisContext *context,
                                    char ret_why[static STORAGE_TLS_WHY_MAX]);

/* Reports whether @context speaks TLS. */
bool storage_tls_is_spoken(const struct redisContext *context);

/* Call it before hiredis reads or writes over TLS. OpenSSL keeps errors for each thread: errors of
 * another connection would count as errors of this one. */
void storage_tls_forget_errors(void);

/* Writes the TLS fault of @context, which broke, to @ret_text. Returns false, and an empty text, if
 * there was none. Call it before any other use of TLS on this thread. */
bool storage_tls_wrong(const struct redisContext *context, char *ret_text, size_t cap);

#endif
