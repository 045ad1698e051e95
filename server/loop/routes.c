#include "server/loop/routes.h"

#include "api/auth/right.h"
#include "api/page/status.h"
#include "api/page/story.h"
#include "api/v1/batch.h"
#include "api/v1/counters.h"
#include "api/v1/events.h"
#include "api/v1/group.h"
#include "api/v1/listing.h"
#include "api/v1/locks.h"
#include "api/v1/metrics.h"
#include "api/v1/openapi.h"
#include "api/v1/rwlocks.h"
#include "api/v1/service.h"

#include <stdio.h>

void server_routes(struct api_backend *backend, struct api_routes ret_routes[static SERVER_ROUTES])
{
    ret_routes[0] = api_locks_routes(backend);
    ret_routes[1] = api_listing_routes(backend);
    ret_routes[2] = api_counters_routes(backend);
    ret_routes[3] = api_service_routes(backend);
    ret_routes[4] = api_metrics_routes(backend);
    ret_routes[5] = api_openapi_routes();
    ret_routes[6] = api_batch_routes();
    ret_routes[7] = api_group_routes(backend);
    ret_routes[8] = api_rwlocks_routes(backend);
    ret_routes[9] = api_events_routes(backend);
    ret_routes[10] = api_page_routes(&api_page_status);
    ret_routes[11] = api_page_story_routes();
}

void server_routes_print(const struct api_routes *routes, size_t count)
{
    for (size_t t = 0; t < count; t++)
        for (size_t r = 0; r < routes[t].count; r++) {
            const struct api_route *route = &routes[t].items[r];
            printf("%s %s %s\n", api_method_name(route->method), route->pattern,
                   api_right_name(route->right));
        }
}
