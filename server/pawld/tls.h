/* TLS to the masters whose URLs are rediss://. */
#ifndef SERVER_PAWLD_TLS_H
#define SERVER_PAWLD_TLS_H

#include "server/pawld/pawld.h"

#include <argp.h>

/* Reads the files that @options name, and gives the result to the masters that need it. Returns 0,
 * or an error after one sentence on stderr. */
error_t pawld_tls_give(struct pawld_options *options);

#endif
