/* The cheapest reading of an HTTP answer that still tells a whole one from a part: a generator of
 * load shares two cores with what it loads. */
#ifndef TESTS_BENCH_ANSWER_H
#define TESTS_BENCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

enum answer_state {
    ANSWER_PARTIAL, /* read more */
    ANSWER_WHOLE,
    ANSWER_BROKEN, /* no HTTP/1.1 answer with a Content-Length */
};

struct answer {
    int status;
    size_t len;       /* of all of it, headers and body */
    const char *body; /* points into what was read */
    size_t body_len;
};

/* Reads an answer from @bytes. *@ret_answer is set only when it is whole. */
enum answer_state answer_read(const char *bytes, size_t len, struct answer *ret_answer);

/* Finds "@member":"..." in the body, at whatever depth. The value is not unescaped. False, if it is
 * not there. */
bool answer_string(const struct answer *answer, const char *member, const char **ret_value,
                   size_t *ret_len);

/* The same for "lock_id":"..." in the body. False, if it is not there. */
bool answer_lock_id(const struct answer *answer, const char **ret_id, size_t *ret_len);

#endif
