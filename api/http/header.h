/* The names of the request headers that anything here looks at. */
#ifndef API_HTTP_HEADER_H
#define API_HTTP_HEADER_H

/* Each may come at most once: a request that repeats one is refused with 400 before its handler
 * runs. */
enum api_header {
    API_HEADER_HOST,
    API_HEADER_CONTENT_LENGTH,
    API_HEADER_TRANSFER_ENCODING,
    API_HEADER_CONTENT_TYPE,
    API_HEADER_EXPECT,
    API_HEADER_LOCK_ID,
    API_HEADER_FENCING_TOKEN,
    API_HEADER_WAITED_MS,
    API_HEADER_IF_MATCH,
    API_HEADER_ORIGIN,
    API_HEADER_SEC_FETCH_SITE,
    API_HEADER_AUTHORIZATION,
    API_HEADER_REQUEST_METHOD, /* Access-Control-Request-Method */
    API_HEADER_REQUEST_ID, /* this and those behind it only say something to logs: a request that
                            * repeats one is served as if it had none */
    API_HEADER_TRACEPARENT,
    API_HEADERS, /* how many there are */
};

/* The name as it is written in answers: "Fencing-Token". */
const char *api_header_name(enum api_header header);

#endif
