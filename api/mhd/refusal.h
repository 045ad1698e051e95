/* An answer that is written to a socket directly, without libmicrohttpd. Private to
 * connection.c. */
#ifndef API_MHD_REFUSAL_H
#define API_MHD_REFUSAL_H

#include "api/http/problem.h"

#include <stdbool.h>

struct api_tls_session;

/* Writes one whole answer to @fd, or through @session if it is not NULL, as far as the kernel takes
 * it at once. A client that does not read gets no more. The answer says that the connection ends.
 * @detail NULL: the problem's own. @head_only: the request was HEAD. */
void api_refusal_send(int fd, struct api_tls_session *session, enum api_problem problem,
                      const char *detail, bool head_only);

#endif
