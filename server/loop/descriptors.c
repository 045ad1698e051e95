#include "server/loop/descriptors.h"

#include "server/system/log.h"

#include <sys/resource.h>

static unsigned share_of(unsigned clients, unsigned loops)
{
    return (clients + loops - 1) / loops;
}

static unsigned wanted(unsigned loops, unsigned clients)
{
    return loops * (share_of(clients, loops) + SERVER_DESCRIPTORS_RESERVED);
}

/* Raises the limit as far as the system allows, up to @most. Returns the limit. */
static unsigned raise_limit(unsigned most)
{
    struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < most) {
        struct rlimit raised = limit;
        raised.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    return limit.rlim_cur < most ? (unsigned)limit.rlim_cur : most;
}

unsigned server_descriptors_for_clients(unsigned loops, unsigned clients)
{
    const unsigned share = raise_limit(wanted(loops, clients)) / loops;
    const unsigned fit =
        share > SERVER_DESCRIPTORS_RESERVED ? share - SERVER_DESCRIPTORS_RESERVED : 1;
    return fit < share_of(clients, loops) ? fit : share_of(clients, loops);
}

int server_descriptors_check(unsigned loops, unsigned clients)
{
    const unsigned most = wanted(loops, clients);
    const unsigned limit = raise_limit(most);
    const unsigned fit = loops * server_descriptors_for_clients(loops, clients);
    if (limit < loops * SERVER_DESCRIPTORS_LEAST) {
        server_log(SERVER_LOG_ERROR,
                   "the limit of open files is %u, and the program needs at least %u. Raise the "
                   "limit to %u: ulimit -n %u, or LimitNOFILE=%u in the unit of systemd",
                   limit, loops * SERVER_DESCRIPTORS_LEAST, most, most, most);
        return FENCE_EIO;
    }
    if (fit < clients)
        server_log(
            SERVER_LOG_WARNING,
            "the limit of open files is %u, so the program can serve only %u clients at a time, "
            "not %u. Further clients wait. Raise the limit to %u: ulimit -n %u, or "
            "LimitNOFILE=%u in the unit of systemd",
            limit, fit, clients, most, most, most);
    return 0;
}
