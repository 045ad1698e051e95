/* What each master contributed to a call that failed: one word for each, in the order of the fleet.
 */
#ifndef API_V1_PARTS_H
#define API_V1_PARTS_H

#include "api/json/writer.h"
#include "fence/protocol/message.h"

/* Writes the member "masters" of a problem. */
void api_write_parts(struct api_writer *writer, const enum fence_part parts[], unsigned total);

#endif
