/* True if libmicrohttpd shows the whole head of a request. Pure.
 *
 * libmicrohttpd reads a head in place. It cuts it up into texts, each ended by a NUL where a
 * separator was, and shows those. It leaves out what it did not understand: all behind a NUL in the
 * target or in a value, and the lines after one whose name is empty. A line that continues on the
 * next (obs-fold, RFC 9112, section 5.2) becomes part of another header's name. A request that
 * means one thing to us and another to a proxy before us is refused. So all texts are walked
 * through in their order. Between one and the next nothing but separators may stand. */
#ifndef API_MHD_HEAD_H
#define API_MHD_HEAD_H

#include <stdbool.h>
#include <stddef.h>

struct api_head {
    const char *seen; /* all before this is accounted for */
    const char *end;
    bool hidden; /* something stands there that was not shown, or a text stands elsewhere */
};

/* The head that begins with @method, which is its first text, and is @size bytes long. */
void api_head_begin(struct api_head *head, const char *method, size_t size);

/* The next text of the request line: the path, the name or the value of a parameter, the version.
 * NULL: a value that is not there. */
void api_head_word(struct api_head *head, const char *word);

/* The next header. */
void api_head_field(struct api_head *head, const char *name, const char *value);

/* That was all. Returns whether something was hidden. */
bool api_head_end(const struct api_head *head);

#endif
