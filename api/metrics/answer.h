/* The answer to GET /metrics, which several programs give. */
#ifndef API_METRICS_ANSWER_H
#define API_METRICS_ANSWER_H

#include "api/http/request.h"
#include "api/metrics/text.h"

/* Answers 200 with @text. Precondition: all of it had room. */
void api_metrics_answer(struct api_request *request, const struct api_metrics_text *text);

#endif
