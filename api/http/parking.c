#include "api/http/parking.h"

#include "api/http/request_state.h"

#include <assert.h>

void api_parking_add(struct api_request *request)
{
    struct api_parking *parking = request->parking;
    assert(request->state == API_REQUEST_HANDLING && request->link == NULL);
    request->state = API_REQUEST_PARKED;
    request->next = parking->first;
    request->link = &parking->first;
    if (request->next != NULL)
        request->next->link = &request->next;
    parking->first = request;
    parking->count++;
}

void api_parking_remove(struct api_request *request)
{
    assert(request->state == API_REQUEST_PARKED && *request->link == request);
    assert(request->parking->count > 0);
    *request->link = request->next;
    if (request->next != NULL)
        request->next->link = request->link;
    request->link = NULL;
    request->parking->count--;
}
