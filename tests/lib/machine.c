#include "tests/lib/machine.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define MEMORY  "/dev/shm"

/* Of ext4 (EXT4_IOC_SHUTDOWN), XFS and others; no header of the C library has it. */
#define SHUTDOWN_IOCTL        _IOR('X', 125, uint32_t)
#define SHUTDOWN_NO_LOG_FLUSH 2

enum {
    RUN_MS = 20000,
};

static char boot_file[MACHINE_PATH_MAX];
static char run_log[MACHINE_PATH_MAX];
static unsigned boots;

static void path_into(char ret_path[static MACHINE_PATH_MAX], const char *in, const char *name)
{
    int len = snprintf(ret_path, MACHINE_PATH_MAX, "%s/%s", in, name);
    assert_in_range(len, 1, MACHINE_PATH_MAX - 1);
}

void machine_run(const char *script, const char *a, const char *b)
{
    const char *log = run_log[0] ? run_log : "/dev/null";
    const int status =
        process_run((const char *const[]){"sh", "-c", script, a, b, NULL}, log, RUN_MS);
    if (status != 0)
        fail_msg("%s (%s, %s) ended with %d; see %s", script, a, b ? b : "", status, log);
}

static void name_boot(void)
{
    FILE *file = fopen(boot_file, "w");
    assert_non_null(file);
    fprintf(file, "00000000-0000-4000-8000-%06u%06u\n", (unsigned)getpid() % 1000000u, ++boots);
    fclose(file);
}

const char *machine_begin(const char *dir)
{
    if (geteuid() != 0)
        return "mounts need root";
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return "this system lets nobody mount here";
    path_into(boot_file, dir, "boot_id");
    path_into(run_log, dir, "machine.log");
    name_boot();
    if (mount(boot_file, BOOT_ID, NULL, MS_BIND, NULL) != 0 ||
        mount("none", MEMORY, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0)
        return "this system lets nobody mount over " BOOT_ID;
    return NULL;
}

void machine_restart(void)
{
    name_boot();
    machine_forget();
}

void machine_forget(void)
{
    assert_int_equal(umount2(MEMORY, MNT_DETACH), 0);
    assert_int_equal(mount("none", MEMORY, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"), 0);
}

/* ---- disks ----------------------------------------------------------------------------------- */

void machine_disk_make(struct machine_disk *ret_disk, const char *dir, unsigned inode_bytes)
{
    char bytes[16];
    path_into(ret_disk->image, dir, "disk");
    path_into(ret_disk->copy, dir, "disk.copy");
    path_into(ret_disk->at, dir, "mnt");
    snprintf(bytes, sizeof(bytes), "%u", inode_bytes);
    machine_run("truncate -s 32M \"$0\" && mkfs.ext4 -q -F -I \"$1\" \"$0\"", ret_disk->image,
                bytes);
    (void)mkdir(ret_disk->at, 0700);
    machine_disk_mount(ret_disk);
}

void machine_disk_mount(const struct machine_disk *disk)
{
    machine_run("mount -o loop \"$0\" \"$1\"", disk->image, disk->at);
}

void machine_disk_unmount(const struct machine_disk *disk)
{
    machine_run("umount \"$0\"", disk->at, NULL);
}

void machine_disk_copy(const struct machine_disk *disk)
{
    struct stat at, above;
    char parent[MACHINE_PATH_MAX];
    path_into(parent, disk->at, "..");
    assert_int_equal(stat(disk->at, &at) | stat(parent, &above), 0);
    const bool mounted = at.st_dev != above.st_dev;
    if (mounted)
        machine_run("fsfreeze -f \"$0\"", disk->at, NULL);
    machine_run("cp --sparse=always \"$0\" \"$1\"", disk->image, disk->copy);
    if (mounted)
        machine_run("fsfreeze -u \"$0\"", disk->at, NULL);
}

void machine_disk_put_back(const struct machine_disk *disk)
{
    machine_run("cp --sparse=always \"$0\" \"$1\"", disk->copy, disk->image);
}

void machine_disk_cut(const struct machine_disk *disk, struct process *process)
{
    uint32_t how = SHUTDOWN_NO_LOG_FLUSH;
    process_freeze(process);
    int fd = open(disk->at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ioctl(fd, SHUTDOWN_IOCTL, &how), 0);
    close(fd);
}
