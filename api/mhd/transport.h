/* The table of functions through which api/http reaches its connections in libmicrohttpd. Private
 * to api/mhd. */
#ifndef API_MHD_TRANSPORT_H
#define API_MHD_TRANSPORT_H

#include "api/http/transport.h"

extern const struct api_transport api_mhd_transport;

#endif
