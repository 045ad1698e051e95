/* The handshake on a new connection: authenticate, and ask for the facts of this Redis. Then, in
 * one pipeline, load the script and read the marker. Then an empty write, to see whether it takes
 * any. The state of a Redis can change during a connection, so every script and every probe asks
 * again. */
#ifndef STORAGE_REDIS_HANDSHAKE_H
#define STORAGE_REDIS_HANDSHAKE_H

#include "storage/redis/session.h"

/* Authenticates on a new connection, and begins a handshake. The same precondition as below. */
void storage_handshake_open(struct storage_session *session);

/* Authenticates again on a READY connection, with another password. If the master refuses, the
 * connection stays; then session->refused is called. */
void storage_handshake_renew(struct storage_session *session);

/* Sends the questions, all or the first of them; their answers end in storage_connection_ready(),
 * or in a failure. Precondition: the link is HANDSHAKE. */
void storage_handshake_begin(struct storage_session *session);

/* Renews the run id and the lineage in the marker, if the marker is still as in @facts; then begins
 * a handshake. The same precondition. */
void storage_handshake_restamp(struct storage_session *session, const struct fence_facts *facts);

#endif
