#include "api/load.h"

#include "api/exchange.h"

void api_http_load(const struct api_http *http, struct api_load *ret_load)
{
    *ret_load = (struct api_load){
        .connections = api_rooms_connections(&http->rooms),
        .waiting = http->parked_count - http->hovering_count,
    };
}
