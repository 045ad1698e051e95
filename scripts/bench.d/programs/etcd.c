/* pawl-bench-etcd: how many lock+unlock pairs a second do the members of an etcd cluster do, over
 * their HTTP gateway? Prints one line of JSON.
 *
 * Each connection is granted a lease before it begins, and keeps it: a pair is one lock and one
 * unlock, the least that etcd asks of a client that holds a session. */
#include "scripts/bench.d/programs/closed_loop.h"
#include "scripts/bench.d/programs/names.h"
#include "scripts/bench.d/programs/outside.h"
#include "tests/lib/answer.h"

#include <argp.h>
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LEASE_S = 3600, /* far beyond any run: no lease expires while another candidate has its turn */
    LEASE_MAX = 24, /* bytes of its number, which is a string in JSON */
    ANSWER_MAX = 1024,
};

struct session {
    char lease[LEASE_MAX];
};

static size_t write_post(char *ret_request, const char *path, const char *body, int body_len)
{
    return (size_t)snprintf(ret_request, LOOP_REQUEST_MAX,
                            "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                            path, body_len, body);
}

/* A name is bytes, which JSON carries in base64. Any text of that alphabet stands for some, if its
 * length is a multiple of four as it is here: so the digits go in as they are. The names are of
 * this run alone. */
static size_t write_lock(void *context, const struct loop_lock *lock, char *ret_request)
{
    const struct session *sessions = context;
    char body[256];
    const int len =
        snprintf(body, sizeof(body), "{\"name\":\"bench/%09d/%0*u\",\"lease\":\"%s\"}",
                 (int)getpid(), NAMES_DIGITS, lock->name, sessions[lock->connection].lease);
    return write_post(ret_request, "/v3/lock/lock", body, len);
}

static size_t write_unlock(void *context, const struct loop_lock *lock, char *ret_request)
{
    (void)context;
    char body[256];
    const int len = snprintf(body, sizeof(body), "{\"key\":\"%s\"}", lock->id);
    return write_post(ret_request, "/v3/lock/unlock", body, len);
}

static void grant_lease(void *context, unsigned connection, int fd)
{
    struct session *session = &((struct session *)context)[connection];
    char body[64];
    const int body_len = snprintf(body, sizeof(body), "{\"TTL\":%d}", LEASE_S);
    char request[LOOP_REQUEST_MAX];
    const size_t len = write_post(request, "/v3/lease/grant", body, body_len);
    if (send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
        err(1, "cannot send to etcd");

    char buffer[ANSWER_MAX];
    struct answer answer = {.body = ""};
    if (!outside_receive(fd, buffer, ANSWER_MAX, &answer))
        errx(1, "no answer from etcd");
    const char *lease;
    size_t lease_len;
    if (answer.status != 200 || !answer_string(&answer, "ID", &lease, &lease_len) ||
        lease_len >= LEASE_MAX)
        errx(1, "no lease: %.*s", (int)answer.body_len, answer.body);
    snprintf(session->lease, LEASE_MAX, "%.*s", (int)lease_len, lease);
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{.argp = &loop_argp}, {0}};
    static const struct argp argp = {
        /* without a parser of its own: its child gets the input */
        .doc = "Measures lock+unlock pairs per second of etcd members.",
        .children = children,
    };
    struct loop_options options;
    loop_options_init(&options);
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    struct session *sessions = calloc(options.connections, sizeof(*sessions));
    if (!sessions)
        err(1, "cannot start");
    const struct loop_service etcd = {
        .granted = 200,
        .id_member = "key",
        .write_acquire = write_lock,
        .write_release = write_unlock,
        .prepare = grant_lease,
        .context = sessions,
    };
    loop_run(&options, &etcd);
    free(sessions);
    return 0;
}
