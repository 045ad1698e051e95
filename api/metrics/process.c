#include "api/metrics/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_MAX = 4096,   /* bytes read of a file in /proc */
    STAT_STARTED = 22, /* proc(5), /proc/[pid]/stat: starttime; */
    STAT_RSS = 24,     /* rss */
};

/* The beginning of a file, terminated. */
static bool read_proc(const char *path, char text[static FILE_MAX])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t len = read(fd, text, FILE_MAX - 1);
    (void)close(fd);
    text[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/* Field @number of /proc/self/stat; 0: not there. The second is the name of the program, in
 * parentheses, and may have any bytes. */
static uint64_t field_of_stat(const char *stat, unsigned number)
{
    const char *at = strrchr(stat, ')');
    for (unsigned field = 2; at != NULL && field < number; field++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* When the machine was started, in seconds since the epoch; 0: not known. */
static uint64_t boot_time_s(void)
{
    char line[256];
    uint64_t boot_s = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL)
        return 0;
    while (boot_s == 0 && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "btime ", 6) == 0)
            boot_s = strtoull(line + 6, NULL, 10);
    (void)fclose(file);
    return boot_s;
}

/* From Linux 6.2 on the kernel says it; before, each is one entry. */
static uint64_t count_descriptors(void)
{
    struct stat status;
    uint64_t count = 0;
    if (stat("/proc/self/fd", &status) == 0 && status.st_size > 0)
        return (uint64_t)status.st_size;
    DIR *descriptors = opendir("/proc/self/fd");
    if (descriptors == NULL)
        return 0;
    for (const struct dirent *entry = readdir(descriptors); entry != NULL;
         entry = readdir(descriptors)) /* NOLINT(concurrency-mt-unsafe): its own stream */
        count += entry->d_name[0] != '.';
    (void)closedir(descriptors);
    return count > 0 ? count - 1 : 0; /* without that of the walk */
}

static void write_memory(const char *stat, struct api_metrics_text *text)
{
    const uint64_t pages = field_of_stat(stat, STAT_RSS);
    api_metrics_family(text, API_METRIC_GAUGE, "process_resident_memory_bytes",
                       "Resident memory in bytes.");
    if (pages > 0)
        api_metrics_count(text, NULL, pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void write_start(const char *stat, struct api_metrics_text *text)
{
    const uint64_t boot_s = boot_time_s();
    const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    const uint64_t started = field_of_stat(stat, STAT_STARTED);
    api_metrics_family(text, API_METRIC_GAUGE, "process_start_time_seconds",
                       "Start time of the process in seconds since the epoch.");
    if (boot_s > 0 && started > 0)
        api_metrics_seconds(text, NULL, boot_s * 1000000 + started * 1000000 / ticks);
}

static void write_processor(struct api_metrics_text *text)
{
    struct rusage used;
    api_metrics_family(text, API_METRIC_COUNTER, "process_cpu_seconds_total",
                       "Total user and system processor time in seconds.");
    if (getrusage(RUSAGE_SELF, &used) == 0)
        api_metrics_seconds(text, NULL,
                            (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                                (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
}

static void write_descriptors(struct api_metrics_text *text)
{
    struct rlimit limit;
    const uint64_t open_now = count_descriptors();
    api_metrics_family(text, API_METRIC_GAUGE, "process_open_fds",
                       "Number of open file descriptors.");
    if (open_now > 0)
        api_metrics_count(text, NULL, open_now);
    api_metrics_family(text, API_METRIC_GAUGE, "process_max_fds",
                       "Maximum number of open file descriptors.");
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        api_metrics_count(text, NULL, limit.rlim_cur);
}

void api_process_write(const char *version, struct api_metrics_text *text)
{
    char stat[FILE_MAX];
    const struct api_labels labels = {{{"version", version}}};
    if (!read_proc("/proc/self/stat", stat))
        stat[0] = '\0';
    write_processor(text);
    write_memory(stat, text);
    write_start(stat, text);
    write_descriptors(text);
    api_metrics_family(text, API_METRIC_GAUGE, "pawl_build_info",
                       "The value is always 1. The label is the version of the program.");
    api_metrics_count(text, &labels, 1);
}
