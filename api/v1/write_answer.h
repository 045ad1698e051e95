/* Parts of answers about locks that several routes write. */
#ifndef API_V1_WRITE_ANSWER_H
#define API_V1_WRITE_ANSWER_H

#include "api/http/problem.h"
#include "api/http/request.h"
#include "api/json/writer.h"
#include "fence/protocol/message.h"

/* Writes the member "masters" of a problem: the part of each master in a failed call, one word for
 * each, in the order of the fleet. */
void api_write_parts(struct api_writer *writer, const enum fence_part parts[], unsigned total);

/* Writes the token of the grant that has a lock; null where it is 0: the masters differ. */
void api_write_token_now(struct api_writer *writer, int64_t token);

/* Writes the label of a holder, and its key for a caller who may see the key. */
void api_write_owner(struct api_writer *writer, struct api_request *request, const char *owner);

/* Writes how long a lock stays if no caller acts: "remaining_ms"; "delay_ms", the part after the
 * lease, if @owner names a delay; and "closed" with the reason if no caller may work under the
 * lock: "delay", or "kept" if @kept, after a release. */
void api_write_remaining(struct api_writer *writer, const char *owner, bool kept,
                         uint64_t remaining_ms);

/* A buffer of @size bytes for an answer, which the caller frees. NULL: the problem of no memory was
 * answered. */
FENCE_CHECKED char *api_body_new(struct api_request *request, size_t size);

/* Begins a JSON object in @body whose first member, @member, is @name. */
void api_write_about(struct api_writer *writer, char *body, size_t size, const char *member,
                     const char *name);

/* Answers 200 with what @writer wrote. */
void api_answer_document(struct api_request *request, const struct api_writer *writer);

/* Answers @problem, and names the lock or counter of @answer in the member @member. @detail NULL:
 * the detail of the table. @parts: adds the word of each master. */
void api_answer_failed(struct api_request *request, enum api_problem problem, const char *detail,
                       const char *member, const struct fence_answer *answer, bool parts);

#endif
