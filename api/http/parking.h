/* Requests that wait for their answers: parked ones. Their clients may leave meanwhile. Private to
 * request.c and requests.c. */
#ifndef API_HTTP_PARKING_H
#define API_HTTP_PARKING_H

#include <stdint.h>

struct api_request;

/* The parked requests of a server. */
struct api_parking {
    struct api_request *first;
    unsigned count;

    /* The client of a parked request, whose number is @client, has gone; NULL: no client is told.
     */
    void (*left)(void *context, uint64_t client);
    void *left_context;
};

/* Parks a request that its handler kept. */
void api_parking_add(struct api_request *request);

/* A parked request has its answer. */
void api_parking_remove(struct api_request *request);

#endif
