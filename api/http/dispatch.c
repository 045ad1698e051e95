#include "api/http/dispatch.h"

#include "api/http/costly.h"
#include "api/http/input.h"
#include "api/http/path.h"
#include "api/http/problem_answer.h"
#include "api/http/request_state.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

/* Notes the Origin. The door for metrics has nothing for pages. A repeated header is refused
 * later. */
static void note_origin(const struct api_served *served, struct api_request *request)
{
    const char *origin = request->headers.value[API_HEADER_ORIGIN];
    request->varies = served->origins.count > 0 && !request->metrics_only;
    request->shared = request->varies && !request->headers.repeated[API_HEADER_ORIGIN] &&
                      api_cors_is_listed(origin, &served->origins);
}

/* Each check returns true if the request may go on; otherwise it has answered it. */

static bool check_running(const struct api_served *served, struct api_request *request)
{
    if (served->leaving || served->stopping)
        request->close_connection = true;
    if (!served->stopping)
        return true;
    api_problem_answer(request, API_PROBLEM_STOPPING);
    return false;
}

/* In HTTP/1.0 there may be no Host; no browser speaks that. */
static bool check_host(const struct api_served *served, struct api_request *request)
{
    const char *host = request->headers.value[API_HEADER_HOST];
    if (host == NULL || api_site_is_known(host, &served->hosts))
        return true;
    api_problem_answer(request, API_PROBLEM_UNKNOWN_HOST);
    return false;
}

/* Answers a preflight: a browser asks whether a page may call. A preflight has no key. */
static bool check_preflight(struct api_request *request)
{
    static const struct api_answer yes = {
        .status = 204,
        .body = "",
        .fields = {{"Access-Control-Allow-Methods", API_CORS_METHODS},
                   {"Access-Control-Allow-Headers", API_CORS_SENT},
                   {"Access-Control-Max-Age", API_CORS_MAX_AGE}},
    };
    if (!request->is_options || !request->shared ||
        request->headers.value[API_HEADER_REQUEST_METHOD] == NULL)
        return true;
    api_request_answer(request, &yes);
    return false;
}

static bool check_site(struct api_request *request)
{
    const char *const *value = request->headers.value;
    if (request->method == API_GET || request->method == API_HEAD || request->shared ||
        api_site_is_own(value[API_HEADER_HOST], value[API_HEADER_ORIGIN],
                        value[API_HEADER_SEC_FETCH_SITE]))
        return true;
    api_problem_answer(request, API_PROBLEM_CROSS_SITE);
    return false;
}

/* The path of a request, before it is answered. */
struct way {
    enum api_found found;
    const char *fault; /* fault of the path; NULL: none */
    char allow[API_ALLOW_MAX];
};

static void find_way(const struct api_served *served, struct api_request *request,
                     struct way *ret_way)
{
    ret_way->found = API_FOUND_NOTHING;
    ret_way->fault = NULL;
    if (api_path_decode(request->path, &ret_way->fault) == 0)
        ret_way->found = api_route_find(served->routes, served->routes_count, request->method,
                                        request->path, &request->match, ret_way->allow);
}

/* Refuses a path that this door does not serve, like an unknown path: the answer does not tell what
 * other doors serve. */
static bool check_door(struct api_request *request)
{
    static const char *const open[] = {"/metrics", "/livez", "/readyz"};
    bool served = !request->metrics_only;
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        served |= strcmp(request->path, open[i]) == 0;
    if (!served)
        api_problem_answer(request, API_PROBLEM_NOT_FOUND);
    return served;
}

static bool check_once(struct api_request *request, enum api_header header)
{
    if (!request->headers.repeated[header])
        return true;
    api_problem_answer_detail(request, API_PROBLEM_INVALID, "Send the %s header only once.",
                              api_header_name(header));
    return false;
}

/* Checks the caller before the path is examined: without a key, or with two, all paths get the same
 * answer. A door for metrics alone asks for no key, and its callers are unknown. */
static bool check_caller(const struct api_served *served, struct api_request *request,
                         const struct way *way)
{
    assert(request->access == NULL && request->caller.id == NULL);
    request->access = served->access;
    if (served->access == NULL || request->metrics_only)
        return true;
    const struct api_route *route = way->found == API_FOUND ? request->match.route : NULL;
    return check_once(request, API_HEADER_AUTHORIZATION) &&
           served->access->authorize(served->access->context, request, route,
                                     request->headers.value[API_HEADER_AUTHORIZATION],
                                     &request->caller);
}

static bool check_found(struct api_request *request, const struct way *way)
{
    if (way->fault != NULL)
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "%s", way->fault);
    else if (way->found == API_FOUND_OTHER_METHOD)
        api_problem_answer_method(request, way->allow);
    else if (way->found == API_FOUND_NOTHING)
        api_problem_answer(request, API_PROBLEM_NOT_FOUND);
    return way->found == API_FOUND;
}

static bool check_size(struct api_request *request)
{
    if (!request->too_large)
        return true;
    api_problem_answer(request, API_PROBLEM_TOO_LARGE);
    return false;
}

static bool check_repeats(struct api_request *request)
{
    for (enum api_header header = 0; header < API_HEADER_REQUEST_ID; header++)
        if (!check_once(request, header))
            return false;
    return true;
}

static bool refuse_query(void *context, const char *name, const char *value)
{
    struct api_request *request = context;
    (void)value;
    api_problem_answer_detail(request, API_PROBLEM_INVALID,
                              "The call takes no query parameter \"%.40s\".", name);
    return false; /* one is enough */
}

static bool check_query(struct api_request *request)
{
    if (request->match.route->takes != API_TAKES_QUERY)
        api_request_query(request, refuse_query, request);
    return request->state == API_REQUEST_HANDLING;
}

/* An absent Content-Type counts as JSON, the only type here. */
static bool check_type(struct api_request *request)
{
    static const char json[] = "application/json";
    const char *type = request->headers.value[API_HEADER_CONTENT_TYPE];
    if (request->body_len == 0 || type == NULL)
        return true;
    size_t len = sizeof(json) - 1;
    if (strncasecmp(type, json, len) == 0 && strchr("; \t", type[len]) != NULL)
        return true;
    api_problem_answer(request, API_PROBLEM_MEDIA_TYPE);
    return false;
}

static bool check_body(struct api_request *request)
{
    return request->match.route->takes == API_TAKES_BODY || api_input_body(request, NULL, 0) == 0;
}

static void run_handler(struct api_request *request)
{
    const struct api_match *match = &request->match;
    assert(request->state == API_REQUEST_HANDLING && match->route != NULL);
    if (match->route->cost == API_CHEAP)
        api_costly_saw_other(request->line);
    else if (request->batched) { /* a batch has no turns */
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "This call is not allowed in a batch. Send this call "
                                  "separately.");
        return;
    } else if (!api_costly_begins(request))
        return;
    match->route->handler(request, match->context);
}

void api_dispatch(const struct api_served *served, struct api_request *request)
{
    struct way way;
    assert(request->state == API_REQUEST_HANDLING && request->match.route == NULL);
    note_origin(served, request);
    find_way(served, request, &way);
    if (check_running(served, request) && check_host(served, request) && check_preflight(request) &&
        check_site(request) && check_door(request) && check_caller(served, request, &way) &&
        check_found(request, &way) && check_size(request) && check_repeats(request) &&
        check_query(request) && check_type(request) && check_body(request))
        run_handler(request);
}
