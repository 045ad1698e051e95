/* Reading an HTTP answer out of bytes that came, for those who have their own socket: load
 * generators, clients under faults. The cheapest that still tells a whole answer from a part: a
 * generator shares two cores with what it loads. tests/lib/http.h reads chunks too. */
#ifndef TESTS_LIB_ANSWER_H
#define TESTS_LIB_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

enum answer_state {
    ANSWER_PARTIAL, /* read more */
    ANSWER_WHOLE,
    ANSWER_BROKEN, /* no HTTP/1.1 answer with a Content-Length */
};

struct answer {
    int status;
    size_t len;       /* length of all of it, headers and body */
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
