#include "tests/system/knock.h"

#include "fence/protocol/limits.h"
#include "tests/lib/answer.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENTS = 2 * KNOCK_EACH,
    SILENCE_MS = 15000,
    REQUEST_BYTES = 512,
    ANSWER_BYTES = 8192,
    PAUSE_MS = 2, /* between two pairs: clients have something else to do, too */
};

struct client {
    const struct knock *knock;
    unsigned number;
    bool keeps; /* its connection */
    int fd;     /* -1: none */
    atomic_uint calls;
    char lock_id[FENCE_LOCK_ID_LEN + 1]; /* "": it holds nothing */
    struct knock_counts counts;
    pthread_t thread;
};

struct knock {
    uint16_t port;
    atomic_bool stops;
    struct client clients[CLIENTS];
};

static bool connect_client(struct client *client)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(client->knock->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (client->fd >= 0)
        return true;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd >= 0 &&
        connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
        client->counts.connections++;
        return true;
    }
    client->counts.refused++;
    (void)close(client->fd);
    client->fd = -1;
    return false;
}

static void hang_up(struct client *client)
{
    (void)close(client->fd);
    client->fd = -1;
}

/* Its next call: an acquire, or the release of what it holds. */
static size_t write_call(const struct client *client, char request[static REQUEST_BYTES])
{
    const int len = client->lock_id[0] == '\0'
                        ? snprintf(request, REQUEST_BYTES,
                                   "POST /v1/locks/knock/%u HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                   client->number)
                        : snprintf(request, REQUEST_BYTES,
                                   "DELETE /v1/locks/knock/%u HTTP/1.1\r\nHost: localhost\r\n"
                                   "Lock-Id: %s\r\n\r\n",
                                   client->number, client->lock_id);
    return (size_t)len;
}

/* Reads until an answer is whole; false where none comes, which is counted. */
static bool read_answer(struct client *client, char bytes[static ANSWER_BYTES],
                        struct answer *ret_answer)
{
    size_t len = 0;
    for (;;) {
        struct pollfd readable = {.fd = client->fd, .events = POLLIN};
        if (poll(&readable, 1, SILENCE_MS) <= 0) {
            client->counts.silent++;
            return false;
        }
        const ssize_t got = recv(client->fd, bytes + len, ANSWER_BYTES - 1 - len, 0);
        if (got <= 0) {
            client->counts.cut++;
            return false;
        }
        len += (size_t)got;
        bytes[len] = '\0';
        if (answer_read(bytes, len, ret_answer) == ANSWER_WHOLE)
            return true;
    }
}

static void note_answer(struct client *client, const struct answer *answer)
{
    const char *id = NULL;
    size_t len = 0;
    const bool acquires = client->lock_id[0] == '\0';
    atomic_fetch_add(&client->calls, 1);
    if (answer->status == 503) {
        client->counts.unavailable++;
        if (answer_string(answer, "type", &id, &len) && len < sizeof(client->counts.last_503)) {
            memcpy(client->counts.last_503, id, len);
            client->counts.last_503[len] = '\0';
            client->counts.stopping += strcmp(client->counts.last_503, "urn:pawl:stopping") == 0;
        }
        return;
    }
    if (answer->status != (acquires ? 201 : 200)) {
        client->counts.others++;
        client->counts.last_status = answer->status;
        return;
    }
    client->counts.answered++;
    client->lock_id[0] = '\0';
    if (acquires && answer_lock_id(answer, &id, &len) && len < sizeof(client->lock_id)) {
        memcpy(client->lock_id, id, len);
        client->lock_id[len] = '\0';
    }
}

static void call_once(struct client *client)
{
    char request[REQUEST_BYTES];
    char bytes[ANSWER_BYTES];
    struct answer answer;
    const size_t len = write_call(client, request);
    if (!connect_client(client))
        return;
    if (send(client->fd, request, len, MSG_NOSIGNAL) != (ssize_t)len) {
        client->counts.cut++;
        hang_up(client);
    } else if (!read_answer(client, bytes, &answer)) {
        hang_up(client);
    } else {
        note_answer(client, &answer);
        if (!client->keeps || strstr(bytes, "Connection: close") != NULL)
            hang_up(client);
    }
}

static void *run_client(void *context)
{
    struct client *client = context;
    while (!atomic_load(&client->knock->stops) || client->lock_id[0] != '\0') {
        call_once(client);
        if (client->lock_id[0] == '\0')
            wait_ms(PAUSE_MS);
        if (atomic_load(&client->knock->stops) && client->counts.silent > 0)
            break;
    }
    if (client->fd >= 0)
        hang_up(client);
    return NULL;
}

struct knock *knock_start(uint16_t port)
{
    struct knock *knock = calloc(1, sizeof(*knock));
    assert_non_null(knock);
    knock->port = port;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &knock->clients[i];
        client->knock = knock;
        client->number = i;
        client->keeps = i % 2 == 0;
        client->fd = -1;
        assert_int_equal(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
    return knock;
}

struct patience {
    const struct knock *knock;
    unsigned wanted[CLIENTS];
};

static bool all_have(void *arg)
{
    const struct patience *patience = arg;
    for (unsigned i = 0; i < CLIENTS; i++)
        if (atomic_load(&patience->knock->clients[i].calls) < patience->wanted[i])
            return false;
    return true;
}

bool knock_wait(const struct knock *knock, unsigned calls, unsigned timeout_ms)
{
    struct patience patience = {.knock = knock};
    for (unsigned i = 0; i < CLIENTS; i++)
        patience.wanted[i] = atomic_load(&knock->clients[i].calls) + calls;
    return wait_until(all_have, &patience, timeout_ms);
}

struct knock_counts knock_stop(struct knock *knock)
{
    struct knock_counts sum = {.answered = 0};
    atomic_store(&knock->stops, true);
    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct knock_counts *counts = &knock->clients[i].counts;
        (void)pthread_join(knock->clients[i].thread, NULL);
        sum.answered += counts->answered;
        sum.unavailable += counts->unavailable;
        sum.stopping += counts->stopping;
        sum.others += counts->others;
        sum.refused += counts->refused;
        sum.cut += counts->cut;
        sum.silent += counts->silent;
        sum.connections += counts->connections;
        if (counts->unavailable > 0)
            memcpy(sum.last_503, counts->last_503, sizeof(sum.last_503));
        sum.last_status = counts->others > 0 ? counts->last_status : sum.last_status;
    }
    free(knock);
    return sum;
}

void knock_expect_unhurt(const struct knock_counts *counts)
{
    if (counts->refused + counts->cut + counts->silent + counts->others > 0)
        fail_msg("of %u calls over %u connections: %u refused, %u cut, %u silent, %u others (%d)",
                 counts->answered + counts->unavailable, counts->connections, counts->refused,
                 counts->cut, counts->silent, counts->others, counts->last_status);
}
