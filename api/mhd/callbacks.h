/* The callbacks of libmicrohttpd: read the request of an exchange, has it served, and keeps its
 * connection informed. @context is the struct api_shard. Private to api/mhd. */
#ifndef API_MHD_CALLBACKS_H
#define API_MHD_CALLBACKS_H

#include "api/mhd/exchange.h"

/* MHD_AccessHandlerCallback, MHD_RequestCompletedCallback, MHD_NotifyConnectionCallback. */
enum MHD_Result api_callback_handle(void *context, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *data, size_t *data_size, void **exchange);
void api_callback_completed(void *context, struct MHD_Connection *connection, void **exchange,
                            enum MHD_RequestTerminationCode why);
void api_callback_connected(void *context, struct MHD_Connection *connection,
                            void **connection_context, enum MHD_ConnectionNotificationCode code);

#endif
