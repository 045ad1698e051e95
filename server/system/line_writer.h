/* Lines for a file, written by its own thread: who adds a line never waits for a disk. Lines
 * that come while it writes go out together, in one write. If the disk is slow or full, lines
 * are kept up to a bound; more are dropped and counted, and the next line that is written says so:
 *
 *     {"time":"...","event":"dropped","lines":12} */
#ifndef SERVER_SYSTEM_LINE_WRITER_H
#define SERVER_SYSTEM_LINE_WRITER_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SERVER_LINES_MAX = 1024 * 1024, /* bytes that are kept, some 3,000 lines */
    SERVER_LINES_MODE = 0640,
    SERVER_LINES_END_S = 5, /* seconds for what is kept to be written, at the end */
};

struct server_line_writer;

/* Opens @path for appending, and starts the thread. "-" is stderr. A file that is not there is not
 * made yet; but its folder has to let it be made. The word @what names the lines in the log.
 * FENCE_EIO: errno says why. FENCE_ENOMEM. Both @what and @path are borrowed. */
FENCE_CHECKED int server_line_writer_new(const char *path, const char *what,
                                         struct server_line_writer **ret_writer);

/* Makes the file, where it was not there: a start that is refused before this leaves none behind.
 * To be called before the first line, and before server_line_writer_reopen(). FENCE_EIO: errno says
 * why. */
FENCE_CHECKED int server_line_writer_make(struct server_line_writer *writer);

/* Writes what is kept, and ends the thread. One that is stuck for SERVER_LINES_END_S is left
 * behind, which is logged: the process is about to end. NULL is fine. */
void server_line_writer_free(struct server_line_writer *writer);

/* Adds @line of @len bytes, with its newline. Any thread; it waits for no disk. */
void server_line_writer_add(struct server_line_writer *writer, const char *line, size_t len);

/* Opens the path again, for who has moved the file away. Lines that were added before and are not
 * yet written go to the new one. False: it cannot be opened, which was logged, and the old one
 * stays.
 */
bool server_line_writer_reopen(struct server_line_writer *writer);

#endif
