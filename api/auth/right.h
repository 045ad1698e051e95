/* The rights of a caller. Each right includes the rights before it, so a role is the highest right
 * that it has, and has the name of that right. */
#ifndef API_AUTH_RIGHT_H
#define API_AUTH_RIGHT_H

#include "api/http/route.h"

/* The name of a role: "read", "lock", "admin"; "-" for API_RIGHT_NONE. */
const char *api_right_name(enum api_right right);

/* The role of this name. False: there is none. */
bool api_right_parse(const char *text, enum api_right *ret_right);

#endif
