#include "server/pawld/listeners.h"

#include "server/system/log.h"
#include "server/system/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* FileDescriptorName= of systemd.socket(5). */
static const char metrics_name[] = "metrics";

/* Opens passed sockets. The names of --listen are then only valid as Host. */
static int open_passed(const struct server_passed *passed, unsigned workers, struct api_tls *tls,
                       struct server_listeners *ret_listeners)
{
    int error = 0;
    *ret_listeners = (struct server_listeners){.tls = tls, .workers = workers};
    for (unsigned i = 0; i < passed->count && !error; i++) {
        const int fd = SERVER_PASSED_FIRST + (int)i;
        char name[SERVER_LISTEN_MAX];
        server_socket_name(fd, name, sizeof(name));
        const bool metrics_only = strcmp(passed->name[i], metrics_name) == 0;
        const struct server_listener_kind kind = {
            .speaks_tls = tls != NULL && !metrics_only && strncmp(name, "unix:", 5) != 0,
            .metrics_only = metrics_only,
        };
        error = server_listeners_add(ret_listeners, &fd, 1, name, &kind);
        if (error)
            server_log(SERVER_LOG_ERROR, "cannot serve at %s: %s", name, strerror(errno));
    }
    for (unsigned i = 0; i < passed->count; i++)
        (void)close(SERVER_PASSED_FIRST + (int)i); /* the listeners have copies */
    if (!error)
        return SERVER_EXIT_DONE;
    server_listeners_close(ret_listeners);
    return SERVER_EXIT_FAILED;
}

int pawld_listeners_open(const struct pawld_options *options, struct api_tls *tls,
                         const struct server_passed *passed, struct server_listeners *ret_listeners)
{
    if (passed->count > 0)
        return open_passed(passed, options->workers, tls, ret_listeners);
    return server_listeners_open(&options->http.listens, tls, options->workers, ret_listeners);
}
