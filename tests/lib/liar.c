#include "tests/lib/liar.h"

#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/wait.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 64,
    HEARD_MAX = LIAR_SAYS_MAX / 2,
    PATIENCE_MS = 200, /* with a peer that does not read */
    POLL_MS = 20,
};

struct connection {
    int client;
    int redis;
    bool listener;
    char asked[LIAR_ASKED_MAX];
};

struct liar {
    pthread_t thread;
    pthread_mutex_t lock; /* guards all that is below */
    liar_fn *tells;
    void *context;
    size_t longest;
    bool stops;

    uint16_t port;
    uint16_t target;
    int door;
    unsigned count;
    struct connection connection[CONNECTIONS_MAX];
    char *heard;
    char *said;
};

/* ---- saying ---------------------------------------------------------------------------------- */

static bool send_all(int fd, const char *bytes, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        const ssize_t now = send(fd, bytes + sent, len - sent, MSG_NOSIGNAL);
        if (now <= 0)
            return false; /* gone, or it did not read for PATIENCE_MS */
        sent += (size_t)now;
    }
    return true;
}

static bool send_in_pieces(int fd, const struct liar_lie *lie)
{
    size_t piece = lie->piece ? lie->piece : lie->len;
    for (size_t at = 0; at < lie->len; at += piece) {
        if (!send_all(fd, lie->bytes + at, lie->len - at < piece ? lie->len - at : piece))
            return false;
        if (lie->piece)
            wait_ms(1);
    }
    return true;
}

/* False when the connection is over. */
static bool say(struct liar *liar, int fd, const struct liar_lie *lie)
{
    if (lie->delay_ms > 0)
        wait_ms(lie->delay_ms);
    if (!lie->endless)
        return send_in_pieces(fd, lie) && !lie->hang_up;
    size_t said = 0;
    while (said < LIAR_ENDLESS_MAX && lie->len > 0 && send_in_pieces(fd, lie))
        said += lie->len;
    pthread_mutex_lock(&liar->lock);
    liar->longest = said > liar->longest ? said : liar->longest;
    pthread_mutex_unlock(&liar->lock);
    return false;
}

static bool answer(struct liar *liar, struct connection *connection)
{
    const ssize_t len = recv(connection->redis, liar->heard, HEARD_MAX, 0);
    if (len <= 0)
        return false;
    const struct liar_heard heard = {.asked = connection->asked,
                                     .listener = connection->listener,
                                     .bytes = liar->heard,
                                     .len = (size_t)len};
    struct liar_lie lie = {.bytes = liar->said, .len = (size_t)len};
    memcpy(lie.bytes, heard.bytes, heard.len);
    pthread_mutex_lock(&liar->lock);
    if (liar->tells)
        liar->tells(liar->context, &heard, &lie);
    pthread_mutex_unlock(&liar->lock);
    return say(liar, connection->client, &lie);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool hand_on(struct liar *liar, struct connection *connection)
{
    const ssize_t len = recv(connection->client, liar->heard, HEARD_MAX, 0);
    if (len <= 0)
        return false;
    size_t shown = (size_t)len < LIAR_ASKED_MAX - 1 ? (size_t)len : LIAR_ASKED_MAX - 1;
    memcpy(connection->asked, liar->heard, shown);
    connection->asked[shown] = '\0';
    connection->listener =
        connection->listener || memmem(liar->heard, (size_t)len, "SUBSCRIBE", 9) != NULL;
    return send_all(connection->redis, liar->heard, (size_t)len);
}

static void take_in(struct liar *liar)
{
    const struct sockaddr_in address = port_address(liar->target);
    const struct timeval patience = {.tv_usec = PATIENCE_MS * 1000L};
    const int client = accept(liar->door, NULL, NULL);
    const int redis = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client < 0 || redis < 0 || liar->count == CONNECTIONS_MAX ||
        connect(redis, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(client);
        close(redis);
        return;
    }
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    liar->connection[liar->count++] = (struct connection){.client = client, .redis = redis};
}

static void let_go(struct liar *liar, size_t i)
{
    close(liar->connection[i].client);
    close(liar->connection[i].redis);
    liar->connection[i] = liar->connection[--liar->count];
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool is_to_stop(struct liar *liar)
{
    pthread_mutex_lock(&liar->lock);
    const bool stops = liar->stops;
    pthread_mutex_unlock(&liar->lock);
    return stops;
}

static void tend(struct liar *liar, const struct pollfd *polled, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        struct connection *connection = &liar->connection[i];
        bool stands = true;
        if (polled[2 * i].revents)
            stands = hand_on(liar, connection);
        if (stands && polled[2 * i + 1].revents)
            stands = answer(liar, connection);
        if (!stands)
            let_go(liar, i);
    }
}

static void *run(void *arg)
{
    struct liar *liar = arg;
    struct pollfd polled[2 * CONNECTIONS_MAX + 1];
    while (!is_to_stop(liar)) {
        const size_t count = liar->count;
        for (size_t i = 0; i < count; i++) {
            polled[2 * i] = (struct pollfd){.fd = liar->connection[i].client, .events = POLLIN};
            polled[2 * i + 1] = (struct pollfd){.fd = liar->connection[i].redis, .events = POLLIN};
        }
        polled[2 * count] = (struct pollfd){.fd = liar->door, .events = POLLIN};
        if (poll(polled, 2 * count + 1, POLL_MS) <= 0)
            continue;
        tend(liar, polled, count);
        if (polled[2 * count].revents)
            take_in(liar);
    }
    while (liar->count > 0)
        let_go(liar, 0);
    return NULL;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct liar *liar_start(uint16_t target, liar_fn *tells, void *context)
{
    struct liar *liar = calloc(1, sizeof(*liar));
    assert_non_null(liar);
    *liar = (struct liar){.tells = tells,
                          .context = context,
                          .port = port_free(),
                          .target = target,
                          .door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                          .heard = malloc(HEARD_MAX),
                          .said = malloc(LIAR_SAYS_MAX)};
    assert_true(liar->heard && liar->said && liar->door >= 0);
    const struct sockaddr_in address = port_address(liar->port);
    setsockopt(liar->door, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    assert_int_equal(bind(liar->door, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(liar->door, CONNECTIONS_MAX), 0);
    assert_int_equal(pthread_mutex_init(&liar->lock, NULL), 0);
    assert_int_equal(pthread_create(&liar->thread, NULL, run, liar), 0);
    return liar;
}

uint16_t liar_port(const struct liar *liar)
{
    return liar->port;
}

void liar_tells(struct liar *liar, liar_fn *tells, void *context)
{
    pthread_mutex_lock(&liar->lock);
    liar->tells = tells;
    liar->context = context;
    pthread_mutex_unlock(&liar->lock);
}

size_t liar_longest(struct liar *liar)
{
    pthread_mutex_lock(&liar->lock);
    const size_t longest = liar->longest;
    pthread_mutex_unlock(&liar->lock);
    return longest;
}

void liar_stop(struct liar *liar)
{
    if (!liar)
        return;
    pthread_mutex_lock(&liar->lock);
    liar->stops = true;
    pthread_mutex_unlock(&liar->lock);
    pthread_join(liar->thread, NULL);
    pthread_mutex_destroy(&liar->lock);
    close(liar->door);
    free(liar->heard);
    free(liar->said);
    free(liar);
}
