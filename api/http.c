#include "api/http.h"

#include "api/exchange.h"
#include "api/listen.h"
#include "api/problem.h"
#include "api/watch.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* libmicrohttpd takes up to 128 events at a time; this many rounds make one turn. */
    ROUNDS_MAX = 64,
    /* The longest until the next look at requests that hover, and at what else may be ready then.
     */
    HOVER_MS = 1,
    /* Rounds in which the last answers may leave, when everything ends. */
    FAREWELL_ROUNDS = 8,
};

/* Percent-encoding is undone once, by api/path.h; libmicrohttpd must leave it alone. */
static size_t unescape_nothing(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

static void log_line(void *context, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void log_line(void *context, const char *format, va_list args)
{
    const struct api_http *http = context;
    if (http->log == NULL)
        return;
    char line[256];
    (void)vsnprintf(line, sizeof(line), format, args);
    http->log(http->log_context, line);
}

static struct MHD_Daemon *start_daemon(struct api_http *http, const struct api_http_config *config)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
    if (http->log != NULL)
        flags |= MHD_USE_ERROR_LOG;
    unsigned connections = config->connections > 0 ? config->connections : API_HTTP_CONNECTIONS;
    unsigned idle_s = config->idle_s > 0 ? config->idle_s : API_HTTP_IDLE_S;

    const struct MHD_OptionItem options[] = {
        /* The logger comes first, or what goes wrong before it is known goes to stderr. */
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)log_line, http},
        {MHD_OPTION_LISTEN_SOCKET, http->listen_fd, NULL},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)api_exchange_completed, http},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape_nothing, http},
        {MHD_OPTION_CONNECTION_LIMIT, connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, idle_s, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, API_HTTP_MEMORY, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(flags, 0, NULL, NULL, api_exchange_handle, http, MHD_OPTION_ARRAY,
                            options, MHD_OPTION_END);
}

int api_http_new(const struct api_http_config *config, struct api_http **ret_http)
{
    int result = 0;
    struct api_http *http = calloc(1, sizeof(*http));
    if (http == NULL)
        return FENCE_ENOMEM;
    http->listen_fd = -1;
    http->watch_fd = -1;
    http->routes = config->routes;
    http->routes_count = config->routes_count;
    http->log = config->log;
    http->log_context = config->log_context;
    http->left = config->left;
    http->left_context = config->left_context;

    result = api_listen(config->listen, config->reuse_port, &http->listen_fd);
    if (result != 0)
        goto out;
    http->port = api_listen_port(http->listen_fd);
    result = api_watch_open(&http->watch_fd);
    if (result != 0)
        goto out;
    http->daemon = start_daemon(http, config);
    if (http->daemon == NULL) {
        result = FENCE_EIO;
        goto out;
    }
    http->fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;

    *ret_http = http;
    http = NULL;
out:
    if (http != NULL && http->listen_fd >= 0)
        (void)close(http->listen_fd);
    if (http != NULL && http->watch_fd >= 0)
        (void)close(http->watch_fd);
    free(http);
    return result;
}

uint16_t api_http_port(const struct api_http *http)
{
    return http->port;
}

int api_http_fd(const struct api_http *http)
{
    return http->fd;
}

int api_http_watch_fd(const struct api_http *http)
{
    return http->watch_fd;
}

void api_http_watch_turn(struct api_http *http)
{
    api_watch_turn(http->watch_fd, api_request_left);
}

int api_http_timeout_ms(struct api_http *http)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    if (MHD_get_timeout(http->daemon, &timeout_ms) != MHD_YES)
        return -1;
    /* What hovers makes libmicrohttpd want another turn at once; its answers will bring one. */
    if (timeout_ms == 0 && http->hovering_count > 0)
        return HOVER_MS;
    return timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX;
}

void api_http_turn(struct api_http *http)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        (void)MHD_run(http->daemon);
        if (api_http_timeout_ms(http) != 0)
            return;
    }
}

void api_http_quiesce(struct api_http *http)
{
    http->stopping = true;
    if (http->listen_fd < 0)
        return;
    (void)MHD_quiesce_daemon(http->daemon);
    (void)close(http->listen_fd);
    http->listen_fd = -1;
}

unsigned api_http_parked(const struct api_http *http)
{
    return http->parked_count;
}

void api_http_free(struct api_http *http)
{
    if (http == NULL)
        return;
    api_http_quiesce(http);
    while (http->parked != NULL) {
        http->parked->close_connection = true;
        api_problem_answer(http->parked, API_PROBLEM_STOPPING);
    }
    /* A resumed connection is taken up by the next round; none may be suspended when it stops. */
    for (int round = 0; round < FAREWELL_ROUNDS; round++)
        (void)MHD_run(http->daemon);
    assert(http->parked == NULL);
    MHD_stop_daemon(http->daemon);
    (void)close(http->watch_fd);
    free(http);
}
