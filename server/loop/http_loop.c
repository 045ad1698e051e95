#include "server/loop/http_loop.h"

#include "server/system/log.h"

#include <assert.h>
#include <string.h>

enum {
    KIND_LEN = 16, /* first bytes of a message of libmicrohttpd: they identify its kind */
};

/* Does a turn of the HTTP server, which also sends answers. */
static void turn_http(struct server_http_loop *glue)
{
    glue->answered = false;
    api_http_turn(glue->http);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events; /* the turn finds out which events there are */
    struct server_http_loop *glue = poll->data;
    glue->readable = true;
}

static void on_watched(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    struct server_http_loop *glue = poll->data;
    glue->watched = true;
}

/* Runs right after the sockets were polled. So all clients share one turn, and the replies of the
 * masters are read before it. */
static void after_look(uv_check_t *check)
{
    struct server_http_loop *glue = check->data;
    const bool readable = glue->readable, watched = glue->watched;
    glue->readable = glue->watched = false;
    const bool turned = watched && api_http_watch_turn(glue->http);
    if (readable && !turned)
        turn_http(glue);
}

static void on_timeout(uv_timer_t *timer)
{
    turn_http(timer->data);
}

/* Runs last before the loop sleeps, after all code that may have answered requests. */
static void before_sleep(uv_prepare_t *prepare)
{
    struct server_http_loop *glue = prepare->data;
    assert(glue->http);
    if (glue->answered) {
        glue->answered = false;
        api_http_send(glue->http);
    }
    server_log_flush();
    if (glue->before_sleep)
        glue->before_sleep(glue->context);
    int timeout_ms = glue->answered ? 0 : api_http_timeout_ms(glue->http);
    if (timeout_ms < 0 || timeout_ms > SERVER_HTTP_HEARTBEAT_MS)
        timeout_ms = SERVER_HTTP_HEARTBEAT_MS;
    uv_timer_start(&glue->timer, on_timeout, (uint64_t)timeout_ms, 0);
}

int server_http_loop_init(struct server_http_loop *glue, uv_loop_t *loop, struct api_http *http)
{
    *glue = (struct server_http_loop){.http = http};
    if (uv_poll_init(loop, &glue->poll, api_http_fd(http)) != 0)
        return FENCE_EIO;
    if (uv_poll_init(loop, &glue->watch, api_http_watch_fd(http)) != 0) {
        uv_close((uv_handle_t *)&glue->poll, NULL);
        return FENCE_EIO;
    }
    int failed = uv_timer_init(loop, &glue->timer) | uv_prepare_init(loop, &glue->prepare) |
                 uv_check_init(loop, &glue->check);
    assert(!failed); /* these only fill in memory */
    glue->poll.data = glue;
    glue->watch.data = glue;
    glue->timer.data = glue;
    glue->prepare.data = glue;
    glue->check.data = glue;
    if (uv_poll_start(&glue->poll, UV_READABLE, on_readable) != 0 ||
        uv_poll_start(&glue->watch, UV_READABLE, on_watched) != 0 ||
        uv_check_start(&glue->check, after_look) != 0 ||
        uv_prepare_start(&glue->prepare, before_sleep) != 0) {
        server_http_loop_fini(glue);
        return FENCE_EIO;
    }
    return 0;
}

void server_http_loop_answered(struct server_http_loop *glue)
{
    glue->answered = true;
}

void server_http_loop_before_sleep(struct server_http_loop *glue,
                                   void (*before_sleep_hook)(void *context), void *context)
{
    assert(!glue->before_sleep); /* set once */
    glue->before_sleep = before_sleep_hook;
    glue->context = context;
}

void server_http_loop_fini(struct server_http_loop *glue)
{
    uv_close((uv_handle_t *)&glue->poll, NULL);
    uv_close((uv_handle_t *)&glue->watch, NULL);
    uv_close((uv_handle_t *)&glue->timer, NULL);
    uv_close((uv_handle_t *)&glue->prepare, NULL);
    uv_close((uv_handle_t *)&glue->check, NULL);
}

void server_http_log(void *label, const char *message)
{
    unsigned key = 0;
    for (size_t i = 0; i < KIND_LEN && message[i] != '\0'; i++)
        key = key * 31 + (unsigned char)message[i];
    server_log_few(SERVER_LOG_WARNING, key, "%shttp: %.*s", (const char *)label,
                   (int)strcspn(message, "\n"), message);
}
