#include "api/wire/socket_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    SOCKET_BACKLOG = 1024,
};

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    return address;
}

/* Serialises programs that start at the same path, from the check for a listener to listen(2). The
 * lock is on the folder, so no file remains. Returns a descriptor to close; -1: there is no lock,
 * as on some network file systems. */
static int lock_folder_of(const char *path)
{
    char folder[API_SOCKET_PATH_MAX];
    memcpy(folder, path, strlen(path) + 1);
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    const int fd = open(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX);
    return fd;
}

/* Reports whether @path is a socket without a listener. If not, errno says why. */
static bool is_stale(const char *path)
{
    const struct sockaddr_un address = address_of(path);
    struct stat file;
    if (lstat(path, &file) != 0)
        return false;
    if (!S_ISSOCK(file.st_mode)) {
        errno = EEXIST;
        return false;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    const bool answered = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    const int why = answered || errno == EAGAIN ? EADDRINUSE : errno; /* its backlog may be full */
    (void)close(fd);
    errno = why;
    return why == ECONNREFUSED;
}

static int bind_to(int fd, const char *path)
{
    const struct sockaddr_un address = address_of(path);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return 0;
    if (errno != EADDRINUSE || !is_stale(path) || unlink(path) != 0)
        return -1;
    return bind(fd, (const struct sockaddr *)&address, sizeof(address));
}

/* No client can connect before listen(2), so none connects before the mode is set. */
static int listen_there(int fd, const char *path, struct stat *ret_file)
{
    if (bind_to(fd, path) != 0)
        return -1;
    if (chmod(path, API_SOCKET_MODE) == 0 && lstat(path, ret_file) == 0 &&
        listen(fd, SOCKET_BACKLOG) == 0)
        return 0;
    const int why = errno;
    (void)unlink(path);
    errno = why;
    return -1;
}

int api_socket_file_listen(const char *path, struct api_socket_file *ret_file, int *ret_fd)
{
    struct stat file;
    if (path[0] == '\0' || strlen(path) >= API_SOCKET_PATH_MAX)
        return FENCE_EINVAL;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return FENCE_EIO;
    const int lock = lock_folder_of(path);
    const int failed = listen_there(fd, path, &file);
    const int why = errno;
    if (lock >= 0)
        (void)close(lock);
    if (failed) {
        (void)close(fd);
        errno = why;
        return FENCE_EIO;
    }
    *ret_file = (struct api_socket_file){.device = file.st_dev, .inode = file.st_ino};
    memcpy(ret_file->path, path, strlen(path) + 1);
    *ret_fd = fd;
    return 0;
}

void api_socket_file_remove(const struct api_socket_file *file)
{
    struct stat now;
    assert(file->path[0] != '\0');
    if (lstat(file->path, &now) == 0 && now.st_dev == file->device && now.st_ino == file->inode)
        (void)unlink(file->path);
}
