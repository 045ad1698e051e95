/* The answers to an inspection and to a watch: a lock, the seats of a semaphore that are held, the
 * readers of a name, or its writer. */
#ifndef API_V1_LOCKS_SHOWN_H
#define API_V1_LOCKS_SHOWN_H

#include "api/http/request.h"
#include "fence/protocol/message.h"

/* Answers @request with @answer, which is no failure. */
void api_locks_shown(struct api_request *request, const struct fence_answer *answer);

#endif
