#include "server/descriptors.h"

#include <sys/resource.h>

unsigned server_descriptors_for_clients(unsigned loops)
{
    struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < SERVER_DESCRIPTORS_WANTED) {
        struct rlimit raised = limit;
        raised.rlim_cur =
            limit.rlim_max < SERVER_DESCRIPTORS_WANTED ? limit.rlim_max : SERVER_DESCRIPTORS_WANTED;
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    if (limit.rlim_cur > SERVER_DESCRIPTORS_WANTED)
        limit.rlim_cur = SERVER_DESCRIPTORS_WANTED;
    unsigned share = (unsigned)limit.rlim_cur / loops;
    return share > SERVER_DESCRIPTORS_RESERVED ? share - SERVER_DESCRIPTORS_RESERVED : 1;
}
