/* A disk that loses what was not synced, put before the C library's calls in a program
 * (LD_PRELOAD). It concerns regular files below the folder $PAWL_UNSYNCED.
 *
 * Bytes that the program writes stay in its own memory until it calls fsync() or fdatasync() for
 * that file. The program itself reads what it wrote, as it would from the kernel's memory. SIGKILL
 * is the power loss: the memory is gone, and the file has what was synced. A program that calls
 * exit() leaves all that it wrote. With $PAWL_UNSYNCED_LIES a sync keeps nothing and succeeds all
 * the same, as on a disk with a cache that lies: a control for tests.
 *
 * Names, lengths that are cut and removed files reach the disk at once. So do bytes that stdio
 * writes, which is how Redis rewrites its files, and writes through mmap(): the "-shm" files of
 * SQLite are left out. A process that forks takes no unsynced bytes of its parent to the disk. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILES_MAX = 64,
    PIECES_MAX = 4096, /* of a file; then they go to the disk, as those of a busy kernel do */
    PIECE_BYTES = 1 << 20,
    NAME_MAX_BYTES = 4096,
    FD_FIRST = 200, /* out of the way of programs that expect low descriptors */
};

/* Bytes that were written and not synced. A later piece covers an earlier one. */
struct piece {
    off_t at;
    size_t len;
    size_t room;
    char *bytes;
};

/* @fd is a duplicate of the first descriptor that wrote. Closing any descriptor of a file drops the
 * locks of its process (POSIX), and SQLite has some: it is closed when the file is removed. */
struct unsynced_file {
    bool used;
    dev_t device;
    ino_t inode;
    int fd;
    unsigned count;
    struct piece piece[PIECES_MAX];
};

static struct {
    pthread_mutex_t lock;
    pid_t owner;
    struct unsynced_file *file[FILES_MAX];
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef ssize_t write_fn(int fd, const void *bytes, size_t len);
typedef ssize_t read_fn(int fd, void *bytes, size_t len);
typedef ssize_t pwrite_fn(int fd, const void *bytes, size_t len, off_t at);
typedef ssize_t pread_fn(int fd, void *bytes, size_t len, off_t at);
typedef off_t lseek_fn(int fd, off_t at, int whence);
typedef int sync_fn(int fd);
typedef int ftruncate_fn(int fd, off_t len);
typedef int fstat_fn(int fd, struct stat *ret_stat);
typedef int stat_fn(const char *path, struct stat *ret_stat);
typedef int open_fn(const char *path, int flags, ...);
typedef int unlink_fn(const char *path);
typedef int rename_fn(const char *from, const char *to);

#define REAL(name) ((name##_fn *)next_of(#name))

static void *next_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

__attribute__((noreturn)) static void give_up(const char *what)
{
    static const char head[] = "unsynced.so cannot go on: ";
    (void)!REAL(write)(STDERR_FILENO, head, sizeof(head) - 1);
    (void)!REAL(write)(STDERR_FILENO, what, strlen(what));
    (void)!REAL(write)(STDERR_FILENO, "\n", 1);
    abort();
}

/* ---- which files ----------------------------------------------------------------------------- */

static bool is_below_folder(int fd)
{
    const char *folder = getenv("PAWL_UNSYNCED");
    char link[64], name[NAME_MAX_BYTES];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t len = folder ? readlink(link, name, sizeof(name) - 1) : -1;
    if (len < 0)
        return false;
    name[len] = '\0';
    return strncmp(name, folder, strlen(folder)) == 0 &&
           !(len > 4 && strcmp(name + len - 4, "-shm") == 0);
}

static struct unsynced_file *find(const struct stat *file)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        struct unsynced_file *found = disk.file[i];
        if (found && found->used && found->inode == file->st_ino && found->device == file->st_dev)
            return found;
    }
    return NULL;
}

/* NULL where the file has nothing unsynced, and never had. errno stays as it was. */
static struct unsynced_file *file_of(int fd, struct stat *ret_stat)
{
    const int why = errno;
    struct unsynced_file *found = NULL;
    if (REAL(fstat)(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode))
        found = find(ret_stat);
    else
        ret_stat->st_mode = 0;
    errno = why;
    return found;
}

static struct unsynced_file *add(int fd, const struct stat *file)
{
    unsigned i = 0;
    while (i < FILES_MAX && disk.file[i] && disk.file[i]->used)
        i++;
    if (i == FILES_MAX)
        give_up("too many files: raise FILES_MAX");
    if (!disk.file[i])
        disk.file[i] = calloc(1, sizeof(*disk.file[i]));
    struct unsynced_file *added = disk.file[i];
    if (!added)
        give_up("no memory");
    added->used = true;
    added->device = file->st_dev;
    added->inode = file->st_ino;
    added->fd = fcntl(fd, F_DUPFD_CLOEXEC, FD_FIRST);
    if (added->fd < 0)
        give_up("no descriptor is left: raise ulimit -n");
    return added;
}

static struct unsynced_file *file_to_write(int fd, struct stat *ret_stat)
{
    const int why = errno;
    struct unsynced_file *found = file_of(fd, ret_stat);
    if (!found && ret_stat->st_mode != 0 && is_below_folder(fd))
        found = add(fd, ret_stat);
    errno = why;
    return found;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static off_t end_of(const struct unsynced_file *file, off_t real)
{
    off_t end = real;
    for (unsigned i = 0; i < file->count; i++) {
        const off_t piece = file->piece[i].at + (off_t)file->piece[i].len;
        end = piece > end ? piece : end;
    }
    return end;
}

static void drop_pieces(struct unsynced_file *file)
{
    for (unsigned i = 0; i < file->count; i++)
        free(file->piece[i].bytes);
    file->count = 0;
}

/* A descriptor that appends does so whatever offset pwrite() is told. */
static void write_whole(const struct unsynced_file *file, const struct piece *piece)
{
    const bool appends = fcntl(file->fd, F_GETFL) & O_APPEND;
    for (size_t done = 0; done < piece->len;) {
        const char *from = piece->bytes + done;
        const size_t left = piece->len - done;
        const ssize_t wrote = appends ? REAL(write)(file->fd, from, left)
                                      : REAL(pwrite)(file->fd, from, left, piece->at + (off_t)done);
        if (wrote <= 0)
            give_up("the file does not take what was held back");
        done += (size_t)wrote;
    }
}

static void write_pieces(struct unsynced_file *file)
{
    for (unsigned i = 0; i < file->count; i++)
        write_whole(file, &file->piece[i]);
    drop_pieces(file);
}

static struct piece *next_piece(struct unsynced_file *file, size_t len, off_t at)
{
    struct piece *last = file->count > 0 ? &file->piece[file->count - 1] : NULL;
    if (last && last->at + (off_t)last->len == at && last->len + len <= PIECE_BYTES)
        return last;
    if (file->count == PIECES_MAX)
        write_pieces(file);
    last = &file->piece[file->count++];
    *last = (struct piece){.at = at};
    return last;
}

static void hold_back(struct unsynced_file *file, const void *bytes, size_t len, off_t at)
{
    if (len == 0)
        return;
    struct piece *piece = next_piece(file, len, at);
    if (piece->len + len > piece->room) {
        piece->room = 2 * (piece->len + len);
        piece->bytes = realloc(piece->bytes, piece->room);
        if (!piece->bytes)
            give_up("no memory");
    }
    memcpy(piece->bytes + piece->len, bytes, len);
    piece->len += len;
}

/* Lays what is unsynced over the @len bytes from @at on. */
static void cover(const struct unsynced_file *file, char *bytes, size_t len, off_t at)
{
    const off_t end = at + (off_t)len;
    for (unsigned i = 0; i < file->count; i++) {
        const struct piece *piece = &file->piece[i];
        const off_t from = piece->at > at ? piece->at : at;
        const off_t last = piece->at + (off_t)piece->len;
        const off_t till = last < end ? last : end;
        if (from < till)
            memcpy(bytes + (from - at), piece->bytes + (from - piece->at), (size_t)(till - from));
    }
}

static ssize_t read_covered(const struct unsynced_file *file, const struct stat *real, int fd,
                            void *bytes, size_t len, off_t at)
{
    ssize_t got = REAL(pread)(fd, bytes, len, at);
    const off_t left = end_of(file, real->st_size) - at;
    if (got < 0 || left <= 0)
        return got;
    const size_t all = (size_t)left < len ? (size_t)left : len;
    if ((size_t)got < all)
        memset((char *)bytes + got, 0, all - (size_t)got);
    cover(file, bytes, all, at);
    return (ssize_t)all;
}

/* ---- files that go --------------------------------------------------------------------------- */

static void forget_file(struct unsynced_file *file)
{
    drop_pieces(file);
    close(file->fd);
    file->used = false;
}

/* The number of a file that is removed may be given to the next one. */
static void forget_path(const char *path)
{
    struct stat file;
    const int why = errno;
    if (REAL(stat)(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 1) {
        struct unsynced_file *found = find(&file);
        if (found)
            forget_file(found);
    }
    errno = why;
}

static void cut_pieces(struct unsynced_file *file, off_t len)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < file->count; i++) {
        struct piece piece = file->piece[i];
        if (piece.at >= len) {
            free(piece.bytes);
            continue;
        }
        if (piece.at + (off_t)piece.len > len)
            piece.len = (size_t)(len - piece.at);
        file->piece[kept++] = piece;
    }
    file->count = kept;
}

/* ---- a process's life ------------------------------------------------------------------------ */

static void lock_disk(void)
{
    (void)pthread_mutex_lock(&disk.lock);
}

static void unlock_disk(void)
{
    (void)pthread_mutex_unlock(&disk.lock);
}

__attribute__((constructor)) static void begin_disk(void)
{
    disk.owner = getpid();
    (void)pthread_atfork(lock_disk, unlock_disk, unlock_disk);
}

__attribute__((destructor)) static void end_disk(void)
{
    if (getpid() != disk.owner)
        return;
    lock_disk();
    for (unsigned i = 0; i < FILES_MAX; i++)
        if (disk.file[i] && disk.file[i]->used)
            write_pieces(disk.file[i]);
    unlock_disk();
}

/* ---- the calls ------------------------------------------------------------------------------- */

static ssize_t held_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    struct stat real;
    lock_disk();
    struct unsynced_file *file = file_to_write(fd, &real);
    if (file)
        hold_back(file, bytes, len, at);
    unlock_disk();
    return file ? (ssize_t)len : REAL(pwrite)(fd, bytes, len, at);
}

static ssize_t held_pread(int fd, void *bytes, size_t len, off_t at)
{
    struct stat real;
    lock_disk();
    const struct unsynced_file *file = file_of(fd, &real);
    const ssize_t got = file ? read_covered(file, &real, fd, bytes, len, at) : 0;
    unlock_disk();
    return file ? got : REAL(pread)(fd, bytes, len, at);
}

static bool is_lying(void)
{
    const char *file = getenv("PAWL_UNSYNCED_LIES");
    struct stat there;
    return file && REAL(stat)(file, &there) == 0;
}

static int held_sync(const char *name, int fd)
{
    struct stat real;
    lock_disk();
    struct unsynced_file *file = file_of(fd, &real);
    if (file && !is_lying())
        write_pieces(file);
    unlock_disk();
    return ((sync_fn *)next_of(name))(fd);
}

static int held_truncate(int fd, off_t len)
{
    struct stat real;
    lock_disk();
    struct unsynced_file *file = file_of(fd, &real);
    const off_t end = file ? end_of(file, real.st_size) : 0;
    if (file)
        cut_pieces(file, len);
    unlock_disk();
    const bool cuts_unsynced = file && real.st_size <= len && len <= end;
    return cuts_unsynced ? 0 : REAL(ftruncate)(fd, len);
}

static void add_unsynced(struct stat *file)
{
    lock_disk();
    const struct unsynced_file *found = find(file);
    if (found)
        file->st_size = end_of(found, file->st_size);
    unlock_disk();
}

static off_t held_lseek(int fd, off_t at, int whence)
{
    struct stat real;
    off_t end = -1;
    if (whence == SEEK_END) {
        lock_disk();
        const struct unsynced_file *file = file_of(fd, &real);
        end = file ? end_of(file, real.st_size) : -1;
        unlock_disk();
    }
    return end < 0 ? REAL(lseek)(fd, at, whence) : REAL(lseek)(fd, end + at, SEEK_SET);
}

static int held_open(const char *path, int flags, mode_t mode)
{
    if (flags & O_TRUNC) {
        struct stat file;
        const int why = errno;
        lock_disk();
        struct unsynced_file *found = REAL(stat)(path, &file) == 0 ? find(&file) : NULL;
        if (found)
            drop_pieces(found);
        unlock_disk();
        errno = why;
    }
    return REAL(open)(path, flags, mode);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): theirs begin with "__" */

ssize_t write(int fd, const void *bytes, size_t len)
{
    struct stat real;
    lock_disk();
    struct unsynced_file *file = file_to_write(fd, &real);
    if (file) {
        const bool appends = fcntl(fd, F_GETFL) & O_APPEND;
        const off_t at = appends ? end_of(file, real.st_size) : REAL(lseek)(fd, 0, SEEK_CUR);
        hold_back(file, bytes, len, at);
        (void)REAL(lseek)(fd, at + (off_t)len, SEEK_SET);
    }
    unlock_disk();
    return file ? (ssize_t)len : REAL(write)(fd, bytes, len);
}

ssize_t read(int fd, void *bytes, size_t len)
{
    struct stat real;
    lock_disk();
    const struct unsynced_file *file = file_of(fd, &real);
    ssize_t got = 0;
    if (file) {
        const off_t at = REAL(lseek)(fd, 0, SEEK_CUR);
        got = read_covered(file, &real, fd, bytes, len, at);
        if (got > 0)
            (void)REAL(lseek)(fd, at + got, SEEK_SET);
    }
    unlock_disk();
    return file ? got : REAL(read)(fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    return held_pwrite(fd, bytes, len, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    return held_pwrite(fd, bytes, len, at);
}

ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
    return held_pread(fd, bytes, len, at);
}

ssize_t pread64(int fd, void *bytes, size_t len, off64_t at)
{
    return held_pread(fd, bytes, len, at);
}

int fsync(int fd)
{
    return held_sync("fsync", fd);
}

int fdatasync(int fd)
{
    return held_sync("fdatasync", fd);
}

int ftruncate(int fd, off_t len)
{
    return held_truncate(fd, len);
}

int ftruncate64(int fd, off64_t len)
{
    return held_truncate(fd, len);
}

off_t lseek(int fd, off_t at, int whence)
{
    return held_lseek(fd, at, whence);
}

off64_t lseek64(int fd, off64_t at, int whence)
{
    return held_lseek(fd, at, whence);
}

int fstat(int fd, struct stat *ret_stat)
{
    const int error = REAL(fstat)(fd, ret_stat);
    if (error == 0)
        add_unsynced(ret_stat);
    return error;
}

int fstat64(int fd, struct stat64 *ret_stat)
{
    return fstat(fd, (struct stat *)ret_stat);
}

int stat(const char *path, struct stat *ret_stat)
{
    const int error = REAL(stat)(path, ret_stat);
    if (error == 0)
        add_unsynced(ret_stat);
    return error;
}

int stat64(const char *path, struct stat64 *ret_stat)
{
    return stat(path, (struct stat *)ret_stat);
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_of(flags, args);
    va_end(args);
    return held_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_of(flags, args);
    va_end(args);
    return held_open(path, flags | O_LARGEFILE, mode);
}

int unlink(const char *path)
{
    lock_disk();
    forget_path(path);
    unlock_disk();
    return REAL(unlink)(path);
}

int rename(const char *from, const char *to)
{
    lock_disk();
    forget_path(to);
    unlock_disk();
    return REAL(rename)(from, to);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
