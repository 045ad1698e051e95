#include "scripts/bench.d/programs/outside.h"

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    STATS_MAX = 64 * 1024, /* bytes of an INFO section */
};

void outside_raise_descriptors(unsigned wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        err(1, "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    if (limit.rlim_cur < wanted)
        errx(1, "%u descriptors are needed, and ulimit -Hn is %llu", wanted,
             (unsigned long long)limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        err(1, "setrlimit");
}

int outside_connect(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        err(1, "cannot connect to 127.0.0.1:%u", (unsigned)port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

bool outside_receive(int fd, char *input, size_t size, struct answer *ret_answer)
{
    enum answer_state state = ANSWER_PARTIAL;
    size_t got = 0;
    while (state == ANSWER_PARTIAL && got < size) {
        const ssize_t more = recv(fd, input + got, size - got, 0);
        if (more <= 0)
            return false;
        got += (size_t)more;
        state = answer_read(input, got, ret_answer);
    }
    return state == ANSWER_WHOLE;
}

uint64_t outside_memory(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    char sizes[128]; /* in pages: of all, of what is in use, ... */
    if (!file || !fgets(sizes, sizeof(sizes), file))
        errx(1, "cannot read %s", path);
    fclose(file);
    return strtoull(sizes + strcspn(sizes, " "), NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t outside_script_calls(uint16_t port)
{
    /* QUIT has the server close the connection behind what it says. */
    static const char ask[] = "INFO commandstats\r\nQUIT\r\n";
    static const char name[] = "cmdstat_evalsha:calls=";
    const int fd = outside_connect(port);
    if (send(fd, ask, strlen(ask), MSG_NOSIGNAL) != (ssize_t)strlen(ask))
        err(1, "cannot ask Redis");
    char stats[STATS_MAX];
    size_t len = 0;
    ssize_t n;
    while ((n = recv(fd, stats + len, sizeof(stats) - 1 - len, 0)) > 0)
        len += (size_t)n;
    if (n < 0)
        err(1, "cannot read from Redis");
    close(fd);
    stats[len] = '\0';
    const char *calls = strstr(stats, name);
    return calls ? strtoull(calls + strlen(name), NULL, 10) : 0;
}
