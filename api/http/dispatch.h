/* From a complete request to its handler: whatever can be refused without knowing the call is
 * refused here ("Bad input" in the contract). Private to exchange.c. */
#ifndef API_HTTP_DISPATCH_H
#define API_HTTP_DISPATCH_H

struct api_request;

/* Answers the request, or runs its handler. */
void api_dispatch(struct api_request *request);

#endif
