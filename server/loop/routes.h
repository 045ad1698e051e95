/* The routes of pawld in one place: a worker serves them, and pawld --routes prints them. */
#ifndef SERVER_LOOP_ROUTES_H
#define SERVER_LOOP_ROUTES_H

#include "api/http/route.h"
#include "api/v1/backend.h"

enum {
    SERVER_ROUTES = 12, /* tables */
};

/* Fills in all tables. @backend is borrowed for the life of the server. */
void server_routes(struct api_backend *backend, struct api_routes ret_routes[static SERVER_ROUTES]);

/* Prints "<method> <path> <right>" to stdout for each route of these tables. */
void server_routes_print(const struct api_routes *routes, size_t count);

#endif
