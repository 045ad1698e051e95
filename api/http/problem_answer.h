/* Answers of a request that failed: its problem, sent. */
#ifndef API_HTTP_PROBLEM_ANSWER_H
#define API_HTTP_PROBLEM_ANSWER_H

#include "api/http/problem.h"
#include "api/http/request.h"

/* Answers @request with @problem and its detail from the table. */
void api_problem_answer(struct api_request *request, enum api_problem problem);

/* Answers with another detail. It may contain text from the client: it is cut and cleaned. */
void api_problem_answer_detail(struct api_request *request, enum api_problem problem,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Answers 405, with the allowed methods in the Allow header. */
void api_problem_answer_method(struct api_request *request, const char *allow);

/* For problems with extra members: begin, write the members with api/json/writer.h, answer.
 *
 *     char body[API_PROBLEM_BODY_MAX];
 *     struct api_writer writer;
 *     api_problem_begin(&writer, body, API_PROBLEM_STALE_TOKEN, NULL);
 *     api_write_integer(&writer, "highest_token", highest);
 *     api_problem_end(&writer, request, API_PROBLEM_STALE_TOKEN, -1);
 *
 * @retry_after_s adds a Retry-After header; negative: only where the status itself calls for one
 * (429, 503: one second). */
void api_problem_end(struct api_writer *writer, struct api_request *request,
                     enum api_problem problem, int64_t retry_after_s);

#endif
