/* Detects requests from pages of other sites. A browser sends such requests for any page that its
 * user opens. It sends some of them without asking first (a POST without a body). Pure. */
#ifndef API_HTTP_SITE_H
#define API_HTTP_SITE_H

#include <stdbool.h>
#include <stddef.h>

/* The names under which a service is known, without port; borrowed. */
struct api_hosts {
    const char *const *names;
    unsigned count;
};

enum {
    API_HOST_NAME_MAX = 253, /* bytes of a name (RFC 1035, section 2.3.4, as text) */
};

/* True for a name that can be one of api_hosts: letters, digits, '-', '_' and '.'. */
bool api_site_is_name(const char *text);

/* Reports whether @host, the value of a Host header, is an IP address, localhost, or one of @hosts.
 * Any other name may be one of a foreign site that leads to this address (DNS rebinding). */
bool api_site_is_known(const char *host, const struct api_hosts *hosts);

/* Reports whether a page of this service itself sent a request: by its Origin (RFC 6454) and
 * Sec-Fetch-Site (Fetch Metadata). NULL: the header is absent: no browser sent the request, or one
 * older than these headers. @host may be NULL too. */
bool api_site_is_own(const char *host, const char *origin, const char *fetch_site);

#endif
