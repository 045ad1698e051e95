/* The steps of a rejoin, on the connection to one master. They are rare, so each is sent alone,
 * with the full script. */
#ifndef STORAGE_REDIS_REJOIN_CALL_H
#define STORAGE_REDIS_REJOIN_CALL_H

#include "storage/redis/session.h"

/* Sends @request (copied); events.rejoin gets the reply. Precondition: the link is READY. */
void storage_rejoin_send(struct storage_session *session,
                         const struct fence_rejoin_request *request);

#endif
