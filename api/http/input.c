#include "api/http/input.h"

#include "api/http/problem_answer.h"
#include "fence/protocol/decimal.h"
#include "fence/protocol/limits.h"
#include "fence/protocol/message.h"
#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int api_input_body(struct api_request *request, const struct api_json_member *members, size_t count)
{
    size_t len = 0;
    const char *body = api_request_body(request, &len);
    if (len == 0 && count == 0)
        return 0;

    char error[API_JSON_ERROR_MAX];
    assert(count == 0 || members != NULL);
    int result = api_json_read(body, len, members, count, error);
    if (result == FENCE_EINVAL)
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "%s", error);
    else if (result != 0)
        api_problem_answer(request, api_problem_of(result));
    return result;
}

struct reading {
    struct api_query query;
    int result;
    char error[API_QUERY_ERROR_MAX];
};

static bool take_parameter(void *context, const char *name, const char *value)
{
    struct reading *reading = context;
    reading->result = api_query_take(&reading->query, name, value, reading->error);
    return reading->result == 0;
}

int api_input_query(struct api_request *request, const struct api_query_param *params, size_t count)
{
    assert(params != NULL && count <= API_QUERY_PARAMS_MAX);
    struct reading reading = {.query = {.params = params, .count = count}};
    api_request_query(request, take_parameter, &reading);
    if (reading.result != 0)
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "%s", reading.error);
    return reading.result;
}

static int parse_token(const char *text, size_t len, int64_t *ret_token)
{
    uint64_t token = 0;
    if (!fence_decimal_read(text, len, FENCE_TOKEN_MAX, &token) || token == 0)
        return FENCE_EINVAL;
    *ret_token = (int64_t)token;
    return 0;
}

int api_input_token(struct api_request *request, int64_t *ret_token)
{
    const char *text = api_request_header(request, API_HEADER_FENCING_TOKEN);
    if (text == NULL)
        return FENCE_ENOENT;
    int result = parse_token(text, strlen(text), ret_token);
    if (result != 0)
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "The Fencing-Token header must be a whole number from 1 to "
                                  "9007199254740991, in plain decimal digits.");
    return result;
}

int api_input_if_match(struct api_request *request, int64_t *ret_token)
{
    const char *text = api_request_header(request, API_HEADER_IF_MATCH);
    if (text == NULL)
        return FENCE_ENOENT;
    size_t len = strlen(text);
    bool quoted = len > 2 && text[0] == '"' && text[len - 1] == '"';
    int result = quoted ? parse_token(text + 1, len - 2, ret_token) : FENCE_EINVAL;
    if (result != 0)
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "If-Match must be one token in double quotes, such as \"34\", "
                                  "from \"1\" to \"9007199254740991\".");
    return result;
}

int api_input_break_token(struct api_request *request, int64_t *ret_token)
{
    const int result = api_input_if_match(request, ret_token);
    if (result == FENCE_ENOENT)
        api_problem_answer_detail(request, API_PROBLEM_TOKEN_REQUIRED,
                                  "To break a grant, send its token in the If-Match header, in "
                                  "double quotes, such as \"34\".");
    return result == 0 ? 0 : FENCE_EINVAL;
}

int api_input_waited(struct api_request *request, uint32_t *ret_waited_ms)
{
    const char *text = api_request_header(request, API_HEADER_WAITED_MS);
    uint64_t waited_ms = 0;
    const char *at = text != NULL ? text : "0";
    for (; *at >= '0' && *at <= '9'; at++) {
        waited_ms = waited_ms * 10 + (uint64_t)(*at - '0');
        if (waited_ms > FENCE_WAITED_MAX_MS)
            waited_ms = FENCE_WAITED_MAX_MS;
    }
    if (*at != '\0' || at == text) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "The Waited-Ms header must be the number of milliseconds that "
                                  "you have waited, in plain decimal digits.");
        return FENCE_EINVAL;
    }
    *ret_waited_ms = (uint32_t)waited_ms;
    return 0;
}

int api_input_lock_id(struct api_request *request, const char **ret_lock_id)
{
    const char *lock_id = api_request_header(request, API_HEADER_LOCK_ID);
    if (lock_id == NULL) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "Send the lock_id of the grant in the Lock-Id header.");
        return FENCE_EINVAL;
    }
    if (!fence_lock_id_valid(lock_id, strlen(lock_id))) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "The Lock-Id header must be %d to %d characters of base64url.",
                                  FENCE_LOCK_ID_MIN, FENCE_LOCK_ID_MAX);
        return FENCE_EINVAL;
    }
    if (strcmp(lock_id, FENCE_KEPT_ID) == 0) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "No grant has this Lock-Id. Send the lock_id of the grant.");
        return FENCE_EINVAL;
    }
    *ret_lock_id = lock_id;
    return 0;
}

/* The rule for a name in a path. */
struct name_rule {
    const char *what;
    bool (*valid)(const char *name, size_t len);
    unsigned len_max;
    const char *more; /* end of the sentence about an invalid name */
};

static int read_name(struct api_request *request, unsigned i, const struct name_rule *rule,
                     const char **ret_name)
{
    const char *name = api_request_param(request, i);
    if (!rule->valid(name, strlen(name))) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "The %s must be " API_RESOURCE_RULE "%s", rule->what,
                                  rule->len_max, rule->more);
        return FENCE_EINVAL;
    }
    if (!api_request_permits_name(request, name))
        return FENCE_EINVAL;
    *ret_name = name;
    return 0;
}

int api_input_resource(struct api_request *request, unsigned i, const char **ret_resource)
{
    static const struct name_rule rule = {"resource", fence_resource_valid, FENCE_RESOURCE_MAX, ""};
    return read_name(request, i, &rule, ret_resource);
}

int api_input_lock(struct api_request *request, unsigned i, const char **ret_lock)
{
    static const struct name_rule rule = {
        "resource", fence_lock_name_valid, FENCE_RESOURCE_MAX,
        " The resource can also be the name of a semaphore, followed by \"%23\" and the index of a "
        "seat."};
    return read_name(request, i, &rule, ret_lock);
}

int api_input_semaphore(struct api_request *request, unsigned i, const char **ret_name)
{
    static const struct name_rule rule = {"name of a semaphore", fence_seats_name_valid,
                                          FENCE_SEATS_NAME_MAX, ""};
    return read_name(request, i, &rule, ret_name);
}

int api_input_rwlock(struct api_request *request, unsigned i, const char **ret_name)
{
    static const struct name_rule rule = {"name of a read-write lock", fence_seats_name_valid,
                                          FENCE_SEATS_NAME_MAX, ""};
    return read_name(request, i, &rule, ret_name);
}

int api_input_counter(struct api_request *request, unsigned i, const char **ret_name)
{
    static const struct name_rule rule = {"name of a counter", fence_resource_valid,
                                          FENCE_RESOURCE_MAX, ""};
    return read_name(request, i, &rule, ret_name);
}
