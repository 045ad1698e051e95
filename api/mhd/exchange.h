/* One exchange, request and answer, as libmicrohttpd drives it: reads the request, has it
 * dispatched, and keeps its connection informed. Private to http.c. */
#ifndef API_MHD_EXCHANGE_H
#define API_MHD_EXCHANGE_H

#include "api/http/costly.h"
#include "api/http/dispatch.h"
#include "api/http/observer.h"
#include "api/http/parking.h"

#include <microhttpd.h>

/* What all exchanges of a server share: the context of its shards. */
struct api_exchanges {
    struct api_served served;
    struct api_parking parking;
    struct api_costly costly;
    struct api_observer observer;
};

/* libmicrohttpd's callbacks; @context is the struct api_shard. */
enum MHD_Result api_exchange_handle(void *context, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *data, size_t *data_size, void **request);
void api_exchange_completed(void *context, struct MHD_Connection *connection, void **request,
                            enum MHD_RequestTerminationCode why);
void api_exchange_connected(void *context, struct MHD_Connection *connection,
                            void **connection_context, enum MHD_ConnectionNotificationCode code);

#endif
