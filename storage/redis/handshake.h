/* The handshake on a new connection: authenticate, and ask what this Redis is. Then, in one
 * pipeline, load the script and ask what it remembers. Then an empty write, to see whether it takes
 * any. A connection outlives what its Redis was, so every script asks again, and so does every
 * probe. */
#ifndef STORAGE_REDIS_HANDSHAKE_H
#define STORAGE_REDIS_HANDSHAKE_H

#include "storage/redis/session.h"

/* Says who this is on a connection that is new, and begins a handshake. The same precondition as
 * below. */
void storage_handshake_open(struct storage_session *session);

/* Says it again on a connection that is READY, with another password. The connection goes on if the
 * master refuses; then session->refused is called. */
void storage_handshake_renew(struct storage_session *session);

/* Sends the questions, all or the first of them; their answers end in storage_connection_ready(),
 * or in a failure. Precondition: the link is HANDSHAKE. */
void storage_handshake_begin(struct storage_session *session);

/* Renews the run id and the lineage in the marker, if it is still the marker in @facts; then begins
 * a handshake. The same precondition. */
void storage_handshake_restamp(struct storage_session *session, const struct fence_facts *facts);

#endif
