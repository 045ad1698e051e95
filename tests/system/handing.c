#include "tests/system/handing.h"

#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ARGS_MAX = 32,
};

struct handing handing;

int handing_setup(void **state)
{
    (void)workdir_setup(state);
    workdir_join(workdir.path, "hand-over", handing.path);
    handing.port = port_free();
    return 0;
}

struct process *handing_start(const char *const options[])
{
    char listen[64];
    char *program = pawl_program("pawld");
    (void)snprintf(listen, sizeof(listen), "127.0.0.1:%u", (unsigned)handing.port);
    const char *args[ARGS_MAX] = {program, "--hand-over", handing.path, "--listen", listen};
    unsigned count = 5;
    for (unsigned i = 0; fleet != NULL && i < fleet->n; i++) {
        args[count++] = "--master";
        args[count++] = fleet->master[i].url;
    }
    if (fleet == NULL) {
        args[count++] = "--data";
        args[count++] = workdir.data;
    }
    for (; options != NULL && *options != NULL && count < ARGS_MAX - 1; options++)
        args[count++] = *options;
    struct process *process = process_start(args, workdir.log);
    free(program);
    return process;
}
