/* A batch: one request with several calls. Each call becomes a separate request, and passes the
 * same checks as a single call: key, limits, metrics, audit log. The batch is answered when its
 * last call is answered.
 *
 * A call of a batch has the key, the certificate, the request id and the trace of the batch. The
 * calls begin in order. No call waits for the answer of another call.
 *
 * If the client leaves before the calls begin, only calls with DELETE begin.
 *
 * One loop, one thread. */
#ifndef API_HTTP_BATCH_H
#define API_HTTP_BATCH_H

#include "api/http/request.h"
#include "fence/protocol/error.h"

enum {
    API_BATCH_MAX = 64, /* calls in one batch */
};

struct api_batch;

/* One call. Texts are borrowed. NULL is none. */
struct api_batch_call {
    const char *method;
    const char *path;    /* as in a request line, without a query */
    const char *keep_ms; /* a parameter of its query, */
    bool force;          /* and the other one that a call can have */
    bool covers;         /* it releases a lock of a writer, and other calls release the rest */
    const char *lock_id; /* the header Lock-Id, */
    const char *token;   /* Fencing-Token, */
    const char *match;   /* and If-Match */
    const char *body;
};

/* Makes an empty batch. The handler of @request calls this. FENCE_ENOMEM. */
FENCE_CHECKED int api_batch_new(struct api_request *request, struct api_batch **ret_batch);

/* Adds a call, of which at most API_BATCH_MAX are added. FENCE_ENOMEM. */
FENCE_CHECKED int api_batch_add(struct api_batch *batch, const struct api_batch_call *call);

/* The answer of a call of a batch. A call whose answer found no memory has the status 503. */
struct api_batch_answer {
    unsigned status;
    const char *body;        /* JSON, terminated */
    const char *retry_after; /* the header; NULL: it has none */
};

/* Answers the request of a batch, or starts another batch that answers it. The answers are
 * borrowed. */
typedef void api_batch_finisher(struct api_request *request, const void *context,
                                const struct api_batch_answer answers[], unsigned count);

/* Has @finish answer the request once all calls are answered, instead of a list of the answers.
 * @context is borrowed until then. */
void api_batch_finish(struct api_batch *batch, api_batch_finisher *finish, const void *context);

/* Begins all calls. The batch then answers its request and frees itself: do not touch it again. */
void api_batch_run(struct api_batch *batch);

/* Frees a batch that was not run. NULL is fine. */
void api_batch_free(struct api_batch *batch);

#endif
