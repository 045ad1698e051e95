/* Parked requests: they wait for their answers, and their clients may leave meanwhile. Private to
 * request.c and requests.c. */
#ifndef API_HTTP_PARKING_H
#define API_HTTP_PARKING_H

#include <stdint.h>

struct api_request;

/* The parked requests of a server. */
struct api_parking {
    struct api_request *first;
    unsigned count;

    /* Called when the client of a parked request left; @client is its number. NULL: not called. */
    void (*left)(void *context, uint64_t client);
    void *left_context;
};

/* Parks a request whose handler answers later. */
void api_parking_add(struct api_request *request);

/* Removes a parked request that has its answer. */
void api_parking_remove(struct api_request *request);

#endif
