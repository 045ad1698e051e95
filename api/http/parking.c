#include "api/http/parking.h"

#include "api/mhd/shard.h"
#include "api/mhd/watch.h"

#include <assert.h>

void api_parking_add(struct api_request *request)
{
    struct api_parking *parking = request->parking;
    request->state = API_REQUEST_PARKED;
    request->next = parking->first;
    request->link = &parking->first;
    if (request->next != NULL)
        request->next->link = &request->next;
    parking->first = request;
    parking->count++;
    request->shard->shards->hovering++;
}

static void unpark(struct api_request *request)
{
    *request->link = request->next;
    if (request->next != NULL)
        request->next->link = request->link;
    request->parking->count--;
}

void api_parking_answered(struct api_request *request)
{
    unpark(request);
    request->shard->due = API_SHARD_ANSWER_ROUNDS;
    if (request->connection == NULL) {
        api_request_free(request);
    } else if (request->suspended) {
        api_watch_remove(request->parking->watch_fd, api_shard_socket(request->connection));
        api_request_queue(request);
        MHD_resume_connection(request->connection);
    } else {
        request->shard->shards->hovering--;
        request->state = API_REQUEST_PREPARED;
    }
}

void api_parking_look(struct api_request *request)
{
    if (request->state == API_REQUEST_PREPARED) {
        api_request_queue(request);
        return;
    }
    assert(request->state == API_REQUEST_PARKED && !request->suspended);
    if (++request->looks < API_HOVER_LOOKS)
        return;
    request->suspended = true;
    request->shard->shards->hovering--;
    MHD_suspend_connection(request->connection);
    api_watch_add(request->parking->watch_fd, api_shard_socket(request->connection), request);
}

static void tell_backend(struct api_request *request)
{
    request->parking->left(request->parking->left_context, request);
}

bool api_parking_has_left(const struct api_request *request)
{
    return request->connection == NULL ||
           (request->suspended && api_watch_has_left(api_shard_socket(request->connection)));
}

/* The backend is told once. A call that is not ended by that stays suspended for a moment. */
void api_parking_stirred(struct api_request *request)
{
    if (!api_parking_has_left(request))
        return;
    api_watch_remove(request->parking->watch_fd, api_shard_socket(request->connection));
    tell_backend(request);
}

void api_parking_disconnected(struct api_request *request)
{
    assert(!request->suspended); /* libmicrohttpd does not see a suspended client leave */
    request->shard->shards->hovering--;
    request->connection = NULL;
    tell_backend(request); /* which may answer it, and so free it */
}
