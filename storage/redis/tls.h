/* TLS to masters whose URLs begin with rediss://. It is there where Pawl was built with a hiredis
 * that has it (1.0 or later, with hiredis_ssl): tls.c. Otherwise tls_none.c says that it is not.
 *
 * A master has to show a certificate that an authority signed and that is for its host in the URL.
 */
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
    const char *ca;   /* authorities that are believed; NULL: those of the system */
    const char *cert; /* shown to masters, with its chain; NULL: none */
    const char *key;  /* of @cert */
};

/* The parts that connections share. Any thread may use it once it is made. */
struct storage_tls;

/* Reports whether this build has TLS. If it has none, the functions below fail, or do nothing. */
bool storage_tls_is_built(void);

/* Reads @files. The caller frees *@ret_tls with storage_tls_free(). FENCE_EINVAL, and a sentence in
 * @ret_why, where one of them is not to be had or is wrong. FENCE_ENOMEM. */
FENCE_CHECKED int storage_tls_new(const struct storage_tls_files *files,
                                  struct storage_tls **ret_tls,
                                  char ret_why[static STORAGE_TLS_WHY_MAX]);

/* After the last connection. NULL is fine. */
void storage_tls_free(struct storage_tls *tls);

/* Has @context, which was just told to connect, speak TLS with @host (a name or an address).
 * FENCE_EIO, and why in @ret_why: the context is of no use. */
FENCE_CHECKED int storage_tls_start(const struct storage_tls *tls, const char *host,
                                    struct redisContext *context,
                                    char ret_why[static STORAGE_TLS_WHY_MAX]);

/* Reports whether that was done. */
bool storage_tls_is_spoken(const struct redisContext *context);

/* To be called before hiredis reads or writes over TLS. OpenSSL notes errors for each thread: those
 * of another connection would be taken for errors of this one. */
void storage_tls_forget_errors(void);

/* Writes what was wrong with the TLS of @context, which broke, to @ret_text. False, and
 * an empty text, if nothing was. To be called before anything else is done with TLS on this thread.
 */
bool storage_tls_wrong(const struct redisContext *context, char *ret_text, size_t cap);

#endif
