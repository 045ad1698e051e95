/* Listening sockets of the Unix domain: a file in the file system. A user may connect who may write
 * to the file. */
#ifndef API_WIRE_SOCKET_FILE_H
#define API_WIRE_SOCKET_FILE_H

#include "fence/protocol/error.h"

#include <sys/types.h>

enum {
    API_SOCKET_PATH_MAX = 108, /* bytes of a path, terminated (unix(7)) */
    API_SOCKET_MODE = 0660,
};

struct api_socket_file {
    char path[API_SOCKET_PATH_MAX];
    dev_t device; /* device of the file that was made */
    ino_t inode;
};

/* Opens a non-blocking listening socket at @path, with mode API_SOCKET_MODE. Replaces a socket
 * without a listener. The caller closes the descriptor. FENCE_EINVAL: @path is empty or too long.
 * FENCE_EIO: errno says why; EADDRINUSE: a process listens there, EEXIST: another kind of file is
 * there. */
FENCE_CHECKED int api_socket_file_listen(const char *path, struct api_socket_file *ret_file,
                                         int *ret_fd);

/* Removes the file, unless another file has replaced it. */
void api_socket_file_remove(const struct api_socket_file *file);

#endif
