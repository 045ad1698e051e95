#include "api/metrics/answer.h"

#include <assert.h>

void api_metrics_answer(struct api_request *request, const struct api_metrics_text *text)
{
    assert(!text->full);
    api_request_answer(request, &(struct api_answer){
                                    .status = 200,
                                    .content_type = API_METRICS_CONTENT_TYPE,
                                    .body = text->buffer,
                                    .len = text->len,
                                });
}
