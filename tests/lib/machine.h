/* A machine of a test's own, as far as files go: it can start again, and its disks can be copied,
 * put back, and lose their power. All of it is in a mount namespace that ends with the process. */
#ifndef TESTS_LIB_MACHINE_H
#define TESTS_LIB_MACHINE_H

struct process;

/* Enters the namespace. @dir is for the machine's own files. NULL: it did. Else why it cannot, as
 * for a user who may not mount; then nothing below may be called. */
const char *machine_begin(const char *dir);

/* Starts the machine again: the kernel names another boot, and /dev/shm is empty. */
void machine_restart(void);

/* Empties /dev/shm alone, as another container on this machine has it. */
void machine_forget(void);

enum {
    MACHINE_PATH_MAX = 256,
};

/* A disk with an ext4 file system in a file. */
struct machine_disk {
    char image[MACHINE_PATH_MAX]; /* the disk's content */
    char copy[MACHINE_PATH_MAX];  /* its content at the last machine_disk_copy() */
    char at[MACHINE_PATH_MAX];    /* the place where it is mounted */
};

/* Makes a disk of 32 MB under @dir and mounts it. @inode_bytes: 256; or 128, which have times of
 * whole seconds and no birth time. */
void machine_disk_make(struct machine_disk *ret_disk, const char *dir, unsigned inode_bytes);

void machine_disk_mount(const struct machine_disk *disk);
void machine_disk_unmount(const struct machine_disk *disk);

/* Copies the disk as a snapshot does: all of its file system at one moment, mounted or not. */
void machine_disk_copy(const struct machine_disk *disk);

/* Puts the copy back. Precondition: it is not mounted. */
void machine_disk_put_back(const struct machine_disk *disk);

/* Cuts the power: @process, which writes there, says nothing any more, and then the disk has what
 * it was told to keep. Writes fail then. Kill @process, and unmount the disk.
 *
 * @process is stopped first because ext4's shutdown lies to it. An fdatasync() that is under way
 * returns 0, and its block is lost. That happened in 68 of 600 cuts of a file that grew by 4 KiB at
 * a time (Linux 6.18). If power fails, no process is left that could hear that answer. */
void machine_disk_cut(const struct machine_disk *disk, struct process *process);

/* Runs a script of sh with @a and @b as $0 and $1. It has to end with 0. */
void machine_run(const char *script, const char *a, const char *b);

#endif
