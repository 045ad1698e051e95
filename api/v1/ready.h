/* True if the service could grant a lock now. Private to api/v1. */
#ifndef API_V1_READY_H
#define API_V1_READY_H

#include "api/v1/backend.h"

/* Masters that vote and have no room for another lock. */
unsigned api_count_full(const struct api_backend *backend);

bool api_is_ready(const struct api_backend *backend);

/* The state of a fleet in events: "ready", "not-ready". */
const char *api_ready_word(bool ready);

#endif
