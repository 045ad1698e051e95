/* The path of a request target, decoded exactly once. */
#ifndef API_HTTP_PATH_H
#define API_HTTP_PATH_H

#include "fence/protocol/error.h"

/* Decodes the path part of a request target (without its query) in place. An absolute-form target
 * ("http://host/path") loses its scheme and authority. Percent-encoding is undone (RFC 3986,
 * section 2.1): "%2F" becomes a slash like any other. Dot segments stay as they are: no name has
 * them, so they are refused where a name is expected.
 *
 * FENCE_EINVAL: not an absolute path, a bare space or control character, a bad percent-encoding, an
 * encoded NUL, or not UTF-8. *@ret_reason is then a static sentence for the client. @path is
 * undefined then. */
FENCE_CHECKED int api_path_decode(char *path, const char **ret_reason);

#endif
