#include "api/v1/events.h"

#include "api/auth/auth.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"

#include <stdio.h>

enum {
    AFTER_MAX = API_EVENT_ID_MAX - 1,
};

/* Reads the event behind which the client resumes: from the header, or from the query if the client
 * cannot set the header. */
static void read_after(const struct api_request *request, char *after)
{
    const char *last = api_request_header(request, API_HEADER_LAST_EVENT_ID);
    if (last != NULL && last[0] != '\0')
        (void)snprintf(after, AFTER_MAX + 1, "%.*s", AFTER_MAX, last);
}

static void follow(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    char prefix[FENCE_RESOURCE_MAX + 1] = "";
    char after[AFTER_MAX + 1] = "";
    const struct api_query_param params[] = {
        {"prefix", API_QUERY_TEXT, 0, FENCE_RESOURCE_MAX, NULL, prefix},
        {"after", API_QUERY_TEXT, 0, AFTER_MAX, NULL, after},
    };
    if (api_input_query(request, params, sizeof(params) / sizeof(params[0])) != 0)
        return;
    if (!api_key_prefix_valid(prefix)) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "No resource can begin with this prefix: use only A-Z a-z 0-9 . "
                                  "_ ~ : @ / - and no empty, \".\" or \"..\" segment.");
        return;
    }
    if (api_auth_require(request, API_RIGHT_READ, prefix) != 0)
        return;
    read_after(request, after);
    const struct api_events_call call = {.request = request, .prefix = prefix, .after = after};
    backend->follow(backend->context, &call);
}

bool api_events_begin(struct api_request *request, const struct api_stream_owner *owner)
{
    static const struct api_answer head = {
        .status = 200,
        .content_type = "text/event-stream",
        .body = "",
        .fields = {{"X-Accel-Buffering", "no"}}, /* nginx passes each piece on at once */
    };
    return api_request_stream(request, &head, owner);
}

void api_events_refuse(struct api_request *request, int error)
{
    if (error == FENCE_EBUSY)
        api_problem_answer_detail(request, API_PROBLEM_BUSY,
                                  "This server has reached its limit of event streams. Close an "
                                  "event stream, use another server, or retry later.");
    else if (error == FENCE_ELEFT)
        api_problem_answer_detail(request, API_PROBLEM_STOPPING,
                                  "This pawld is shutting down. Open the event stream at another "
                                  "pawld.");
    else
        api_problem_answer(request, api_problem_of(error));
}

struct api_routes api_events_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_GET, "/v1/events", follow, API_TAKES_QUERY, API_RIGHT_READ, "events", API_CHEAP},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
