/* Parts of answers about locks that several routes write. */
#ifndef API_V1_PARTS_H
#define API_V1_PARTS_H

#include "api/http/request.h"
#include "api/json/writer.h"
#include "fence/protocol/message.h"

/* Writes the member "masters" of a problem: what each master contributed to a call that failed, one
 * word for each, in the order of the fleet. */
void api_write_parts(struct api_writer *writer, const enum fence_part parts[], unsigned total);

/* Writes the token of the grant that has a lock; null where it is 0: the masters differ. */
void api_write_token_now(struct api_writer *writer, int64_t token);

/* Writes the label of a holder, and its key for a caller who may see the key. */
void api_write_owner(struct api_writer *writer, struct api_request *request, const char *owner);

/* Writes for how long a lock stands if no caller acts: "remaining_ms"; "delay_ms", which
 * of it comes after the lease, where @owner names one; and "closed" with the reason where no caller
 * may work under it: "delay", or "kept" if @kept, which was released. */
void api_write_remaining(struct api_writer *writer, const char *owner, bool kept,
                         uint64_t remaining_ms);

#endif
