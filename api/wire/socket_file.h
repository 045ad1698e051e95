/* Listening sockets of the Unix domain: a file in the file system, and who may connect is who may
 * write to it. */
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

/* Opens a non-blocking listening socket at @path, with mode API_SOCKET_MODE. A socket that no
 * process listens on any more is replaced. The caller closes the descriptor. FENCE_EINVAL: empty,
 * or longer than a path may be. FENCE_EIO: errno says why; EADDRINUSE where somebody listens there,
 * EEXIST where another kind of file is there. */
FENCE_CHECKED int api_socket_file_listen(const char *path, struct api_socket_file *ret_file,
                                         int *ret_fd);

/* Removes the file, unless another one has its place by now. */
void api_socket_file_remove(const struct api_socket_file *file);

#endif
