/* The path of a request target, decoded exactly once. */
#ifndef API_HTTP_PATH_H
#define API_HTTP_PATH_H

#include "fence/protocol/error.h"

/* Decodes the path part of a request target (without its query) in place: an absolute-form target
 * ("http://host/path") loses its scheme and authority, percent-encoding is undone (RFC 3986,
 * section 2.1), "%2F" becomes a slash like any other. Dot segments stay as they are: no name has
 * them, so they are refused where a name is expected.
 *
 * FENCE_EINVAL: not an absolute path, a bare space or control character, a percent sign without two
 * hex digits, an encoded NUL, or not UTF-8; *@ret_reason is then a sentence for the client, static.
 * @path is undefined then. */
FENCE_CHECKED int api_path_decode(char *path, const char **ret_reason);

#endif
