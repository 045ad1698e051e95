/* Writes lines to a file from a separate thread: a caller that adds a line never waits for a disk.
 * Lines that arrive during a write go out together, in one write. If the disk is slow or full,
 * lines are kept up to a bound. More lines are dropped and counted, and the next written line
 * reports them:
 *
 *     {"time":"...","event":"dropped","lines":12} */
#ifndef SERVER_SYSTEM_LINE_WRITER_H
#define SERVER_SYSTEM_LINE_WRITER_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SERVER_LINES_MAX = 1024 * 1024, /* bytes of lines that are kept, some 3,000 lines */
    SERVER_LINES_MODE = 0640,
    SERVER_LINES_END_S = 5, /* seconds to write the kept lines at the end */
};

struct server_line_writer;

/* Opens @path for appending, and starts the thread. "-" is stderr. A missing file is not created
 * yet; but its folder must allow its creation. The word @what names the lines in the log.
 * FENCE_EIO: errno says why. FENCE_ENOMEM. Both @what and @path are borrowed. */
FENCE_CHECKED int server_line_writer_new(const char *path, const char *what,
                                         struct server_line_writer **ret_writer);

/* Creates a missing file: a start that is refused before this leaves no file. Call it before the
 * first line, and before server_line_writer_reopen(). FENCE_EIO: errno says why. */
FENCE_CHECKED int server_line_writer_make(struct server_line_writer *writer);

/* Writes the kept lines, and ends the thread. A thread that is stuck for SERVER_LINES_END_S is
 * abandoned, which is logged: the process is about to end. NULL is fine. */
void server_line_writer_free(struct server_line_writer *writer);

/* Adds @line of @len bytes, with its newline. Any thread; never waits for a disk. */
void server_line_writer_add(struct server_line_writer *writer, const char *line, size_t len);

/* Opens the path again, after the file was moved away. Lines that are not yet written go to the new
 * file. Returns false if it cannot be opened: that is logged, and the old file stays. */
bool server_line_writer_reopen(struct server_line_writer *writer);

#endif
