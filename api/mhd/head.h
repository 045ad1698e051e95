/* Checks whether libmicrohttpd shows the whole head of a request. Pure.
 *
 * libmicrohttpd reads a head in place. It cuts the head into texts, puts a NUL in place of each
 * separator, and shows the texts. It hides bytes that it did not understand: everything behind a
 * NUL in the target or in a value, and the lines after a line with an empty name. If a line
 * continues on the next (obs-fold, RFC 9112, section 5.2), the continuation becomes part of another
 * header's name. A request that has one meaning here and another at a proxy must be refused. So
 * this code walks through all texts in their order, and allows only separators between them. */
#ifndef API_MHD_HEAD_H
#define API_MHD_HEAD_H

#include <stdbool.h>
#include <stddef.h>

struct api_head {
    const char *seen; /* all bytes before this were seen */
    const char *end;
    bool hidden; /* some bytes were not shown, or a text is at the wrong place */
};

/* The head that begins with @method, which is its first text, and is @size bytes long. */
void api_head_begin(struct api_head *head, const char *method, size_t size);

/* The next text of the request line: the path, the name or the value of a parameter, the version.
 * NULL: a value that is not there. */
void api_head_word(struct api_head *head, const char *word);

/* The next header. */
void api_head_field(struct api_head *head, const char *name, const char *value);

/* Ends the head. Returns whether something was hidden. */
bool api_head_end(const struct api_head *head);

#endif
