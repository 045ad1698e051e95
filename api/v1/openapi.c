#include "api/v1/openapi.h"

#include "api/http/request.h"
#include "api/v1/openapi.json.h"

const char *api_openapi_text(size_t *ret_len)
{
    *ret_len = sizeof(api_v1_openapi) - 1;
    return api_v1_openapi;
}

/* The body is not copied: callers without a key may request it, and a copy for each answer would
 * cost memory. */
static void show_openapi(struct api_request *request, void *context)
{
    struct api_answer answer = {.status = 200, .is_lasting = true};
    (void)context;
    answer.body = api_openapi_text(&answer.len);
    api_request_answer(request, &answer);
}

struct api_routes api_openapi_routes(void)
{
    static const struct api_route routes[] = {
        {API_GET, "/openapi.json", show_openapi, API_TAKES_NOTHING, API_RIGHT_NONE, "openapi",
         API_CHEAP},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), NULL};
}
