/* Files of settings come from operators, and may be cut where somebody writes them. The first byte
 * says which command reads. */
#include "server/pawld/settings.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Each mistake is a sentence there. libFuzzer has the first stderr. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    stderr = fopen("/dev/null", "we");
    assert(stderr);
    return 0;
}

static error_t read_settings(const uint8_t *text, size_t size, enum pawld_command command,
                             struct pawld_options *options)
{
    char path[64];
    const int fd = memfd_create("settings", MFD_CLOEXEC);
    assert(fd >= 0);
    assert(write(fd, text, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const error_t error = pawld_settings_of_file(path, command, options);
    (void)close(fd);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum pawld_command commands[] = {PAWLD_SERVE, PAWLD_INIT, PAWLD_MOVE};
    if (size < 1)
        return 0;
    struct pawld_options *options = calloc(1, sizeof(*options));
    assert(options);
    const enum pawld_command command = commands[data[0] % (sizeof(commands) / sizeof(commands[0]))];
    const error_t error = read_settings(data + 1, size - 1, command, options);
    assert(error != 0 || size == 1 || data[size - 1] == '\n' || memchr(data + 1, '\0', size - 1));
    assert(options->masters_count <= FENCE_MASTERS_MAX && options->from_count <= FENCE_MASTERS_MAX);
    free(options);
    pawld_drop_texts();
    return 0;
}
