#include "server/loop/listeners.h"

#include "api/wire/listen.h"
#include "server/system/log.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static const char unix_prefix[] = "unix:";
static const char plain_prefix[] = "http://";
static const char tls_prefix[] = "https://";

enum {
    NUMERIC_MAX = 80, /* bytes of "[address]:port", terminated */
    PORT_LEN_MAX = 5,
};

/* ---- what the operator wrote ----------------------------------------------------------------- */

static bool is_numeric(const char *host)
{
    struct addrinfo *info = NULL;
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    if (getaddrinfo(host, NULL, &hints, &info) != 0)
        return false;
    freeaddrinfo(info);
    return true;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Returns the address behind its scheme. */
static const char *behind_scheme(const char *address)
{
    if (begins_with(address, plain_prefix))
        return address + strlen(plain_prefix);
    return address + (begins_with(address, tls_prefix) ? strlen(tls_prefix) : 0);
}

bool server_listen_name(const char *address, char ret_name[static API_HOST_NAME_MAX + 1])
{
    char name[API_HOST_NAME_MAX + 1];
    address = behind_scheme(address);
    const char *colon = strrchr(address, ':');
    const size_t len = colon != NULL ? (size_t)(colon - address) : 0;
    if (len == 0 || len >= sizeof(name) || begins_with(address, unix_prefix))
        return false;
    memcpy(name, address, len);
    name[len] = '\0';
    if (!api_site_is_name(name) || strcasecmp(name, "localhost") == 0 || is_numeric(name))
        return false;
    memcpy(ret_name, name, len + 1);
    return true;
}

static int tell_usage(const char *address)
{
    (void)server_options_error(
        "--listen takes HOST:PORT, such as 127.0.0.1:7380, or :PORT for all addresses, or "
        "unix:/PATH, not '%s'. An address with a port can begin with http:// or https://",
        address);
    return SERVER_EXIT_USAGE;
}

/* Prints why @address cannot be listened on, from the API's error and errno. Returns the exit
 * status. */
static int tell_why(const char *address, int error)
{
    if (error == FENCE_EINVAL)
        return tell_usage(address);
    if (error == FENCE_EBUSY) {
        server_log(SERVER_LOG_ERROR, "cannot listen on %s: the limit of %d addresses is reached",
                   address, API_DOORS_MAX);
        return SERVER_EXIT_FAILED;
    }
    server_log(SERVER_LOG_ERROR, "cannot listen on %s: %s. Choose another address with --listen",
               address, error == FENCE_EIO ? strerror(errno) : fence_strerror(error));
    return SERVER_EXIT_FAILED;
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* Descriptors for one address. */
struct wanted {
    const char *name; /* the name that was looked up; "" */
    bool speaks_tls;
    bool metrics_only;
};

static struct server_listener *new_listener(struct server_listeners *listeners,
                                            const struct wanted *wanted)
{
    assert(listeners->count <= API_DOORS_MAX);
    if (listeners->count == API_DOORS_MAX)
        return NULL;
    struct server_listener *listener = &listeners->listener[listeners->count++];
    *listener = (struct server_listener){.speaks_tls = wanted->speaks_tls,
                                         .metrics_only = wanted->metrics_only};
    for (unsigned i = 0; i < SERVER_LISTENERS_WORKERS; i++)
        listener->fd[i] = -1;
    return listener;
}

/* @fd is the socket of the first worker; the other workers get the same socket. */
static int share_socket(const struct server_listeners *listeners, struct server_listener *listener,
                        int fd)
{
    assert(fd >= 0 && listener->fd[0] < 0);
    listener->fd[0] = fd;
    listener->sockets = 1;
    listener->shared = listeners->workers > 1;
    for (unsigned i = 1; i < listeners->workers; i++) {
        listener->fd[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (listener->fd[i] < 0)
            return FENCE_EIO;
    }
    return 0;
}

/* Writes the address with the actual port. */
static void put_port(char *text, size_t size, const char *address, uint16_t port)
{
    (void)snprintf(text, size, "%.*s:%u", (int)(strrchr(address, ':') - address), address,
                   (unsigned)port);
}

/* Opens a socket for each worker: the kernel distributes the connections. */
static int open_sharing(const struct server_listeners *listeners, struct server_listener *listener,
                        const char *address)
{
    char shared[SERVER_LISTEN_MAX];
    int claim = -1;
    assert(listeners->workers > 1);
    int result = api_listen_claim(address, &claim);
    if (result != 0)
        return result;
    put_port(shared, sizeof(shared), address, api_listen_port(claim));
    for (unsigned i = 0; i < listeners->workers && result == 0; i++)
        result = api_listen(shared, true, &listener->fd[i]);
    const int why = errno;
    (void)close(claim);
    errno = why;
    return result;
}

/* @address is numeric. */
static int open_network(struct server_listeners *listeners, const char *address,
                        const struct wanted *wanted)
{
    char text[SERVER_LISTEN_MAX];
    struct server_listener *listener = new_listener(listeners, wanted);
    if (listener == NULL)
        return FENCE_EBUSY;
    const int result = listeners->workers > 1 ? open_sharing(listeners, listener, address)
                                              : api_listen(address, false, &listener->fd[0]);
    if (result != 0)
        return result;
    listener->sockets = listeners->workers;
    put_port(text, sizeof(text), address, api_listen_port(listener->fd[0]));
    (void)snprintf(listener->name, sizeof(listener->name),
                   wanted->name[0] != '\0' ? "%.63s (%.253s)" : "%.319s", text, wanted->name);
    return 0;
}

static int open_file(struct server_listeners *listeners, const char *address,
                     const struct wanted *wanted)
{
    int fd = -1;
    assert(begins_with(address, unix_prefix));
    struct server_listener *listener = new_listener(listeners, wanted);
    if (listener == NULL)
        return FENCE_EBUSY;
    int result = api_socket_file_listen(address + strlen(unix_prefix), &listener->file, &fd);
    if (result != 0)
        return result;
    listener->is_file = true;
    (void)snprintf(listener->name, sizeof(listener->name), "%s", address);
    return share_socket(listeners, listener, fd);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_open(const struct server_listeners *listeners, unsigned first, const char *address)
{
    const size_t len = strlen(address);
    for (unsigned i = first; i < listeners->count; i++)
        if (strncmp(listeners->listener[i].name, address, len) == 0 &&
            listeners->listener[i].name[len] == ' ')
            return true;
    return false;
}

static int open_found(struct server_listeners *listeners, const struct addrinfo *found,
                      const struct wanted *wanted)
{
    const unsigned first = listeners->count;
    int status = 0;
    for (; found != NULL && status == 0; found = found->ai_next) {
        char host[NUMERIC_MAX - PORT_LEN_MAX - 4], port[PORT_LEN_MAX + 1], address[NUMERIC_MAX];
        if (getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof(host), port, sizeof(port),
                        NI_NUMERICHOST | NI_NUMERICSERV) != 0)
            continue;
        (void)snprintf(address, sizeof(address), found->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
                       host, port);
        if (is_open(listeners, first, address)) /* the resolver may return an address twice */
            continue;
        const int error = open_network(listeners, address, wanted);
        status = error == 0 ? 0 : tell_why(address, error);
    }
    return status;
}

/* Looks the name up once, at the start. A later change of the name takes effect at the next
 * start. */
static int open_name(struct server_listeners *listeners, const char *address,
                     const struct wanted *wanted)
{
    const char *port = strrchr(address, ':') + 1;
    const struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICSERV | AI_PASSIVE,
    };
    struct addrinfo *found = NULL;
    int64_t number = 0;
    if (!server_options_number(port, 0, UINT16_MAX, &number))
        return tell_usage(address);
    const int error = getaddrinfo(wanted->name, port, &hints, &found);
    if (error != 0) {
        server_log(SERVER_LOG_ERROR, "cannot listen on %s: the name has no address: %s", address,
                   gai_strerror(error));
        return SERVER_EXIT_FAILED;
    }
    const int status = open_found(listeners, found, wanted);
    freeaddrinfo(found);
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Reports whether @address has TLS. The socket of a file needs none: no process stands between its
 * two ends. */
static bool has_tls(const struct server_listeners *listeners, const char *address)
{
    if (begins_with(address, plain_prefix) || begins_with(address, unix_prefix))
        return false;
    return listeners->tls != NULL || begins_with(address, tls_prefix);
}

static int tell_no_certificate(const char *text)
{
    (void)server_options_error("--listen %s needs --tls-cert and --tls-key", text);
    return SERVER_EXIT_USAGE;
}

static int open_one(struct server_listeners *listeners, const char *text, bool metrics_only)
{
    char name[API_HOST_NAME_MAX + 1] = "";
    const char *address = behind_scheme(text);
    const struct wanted wanted = {
        .name = name,
        .speaks_tls = !metrics_only && has_tls(listeners, text),
        .metrics_only = metrics_only,
    };
    int error = 0;
    if (strlen(address) >= SERVER_LISTEN_MAX || (metrics_only && begins_with(text, tls_prefix)))
        return tell_usage(text);
    if (wanted.speaks_tls && listeners->tls == NULL)
        return tell_no_certificate(text);
    if (server_listen_name(address, name))
        return open_name(listeners, address, &wanted);
    if (begins_with(address, unix_prefix))
        error = open_file(listeners, address, &wanted);
    else
        error = open_network(listeners, address, &wanted);
    return error == 0 ? 0 : tell_why(address, error);
}

int server_listeners_open(const struct server_listens *listens, struct api_tls *tls,
                          unsigned workers, struct server_listeners *ret_listeners)
{
    assert(workers > 0 && workers <= SERVER_LISTENERS_WORKERS);
    int status = 0;
    ret_listeners->tls = tls;
    ret_listeners->waited_at = false;
    ret_listeners->count = 0;
    ret_listeners->workers = workers;
    for (unsigned i = 0; i < listens->address_count && status == 0; i++)
        status = open_one(ret_listeners, listens->address[i], false);
    for (unsigned i = 0; i < listens->metrics_count && status == 0; i++)
        status = open_one(ret_listeners, listens->metrics[i], true);
    if (status != 0)
        server_listeners_close(ret_listeners);
    return status;
}

/* Checks one address. A network address is bound for a moment, without accepting a client. An
 * address in use is no error: the running pawld may have it. */
static int check_one(const char *text, const struct api_tls *tls, bool metrics_only)
{
    char name[API_HOST_NAME_MAX + 1];
    const char *address = behind_scheme(text);
    int claim;
    if (strlen(address) >= SERVER_LISTEN_MAX || (metrics_only && begins_with(text, tls_prefix)))
        return tell_usage(text);
    if (begins_with(text, tls_prefix) && tls == NULL)
        return tell_no_certificate(text);
    if (server_listen_name(address, name) || begins_with(address, unix_prefix))
        return 0;
    const int error = api_listen_claim(address, &claim);
    if (error == 0)
        (void)close(claim);
    return error == FENCE_EINVAL ? tell_why(address, error) : 0;
}

int server_listeners_check(const struct server_listens *listens, const struct api_tls *tls)
{
    int status = 0;
    for (unsigned i = 0; i < listens->address_count && status == 0; i++)
        status = check_one(listens->address[i], tls, false);
    for (unsigned i = 0; i < listens->metrics_count && status == 0; i++)
        status = check_one(listens->metrics[i], tls, true);
    return status;
}

/* Copies @fd for a listener: close-on-exec and non-blocking. */
static int copy_socket(int fd, int *ret_copy)
{
    const int flags = fcntl(fd, F_GETFL);
    const int buffer = API_HTTP_SEND_BUFFER; /* as in api_listen() */
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) < 0)
        return FENCE_EIO;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return FENCE_EIO;
    *ret_copy = copy;
    return 0;
}

static struct server_listener *add_listener(struct server_listeners *listeners, const char *name,
                                            const struct server_listener_kind *kind)
{
    const struct wanted wanted = {.speaks_tls = kind->speaks_tls,
                                  .metrics_only = kind->metrics_only};
    assert(!kind->speaks_tls || listeners->tls != NULL);
    struct server_listener *listener = new_listener(listeners, &wanted);
    if (listener == NULL)
        return NULL;
    listener->stays = true;
    listeners->waited_at = true;
    (void)snprintf(listener->name, sizeof(listener->name), "%s", name);
    return listener;
}

/* Adds a socket from which all workers accept. */
static int add_extra(struct server_listeners *listeners, int fd, const char *name,
                     const struct server_listener_kind *kind)
{
    int own = -1;
    struct server_listener *listener = add_listener(listeners, name, kind);
    if (listener == NULL)
        return FENCE_EBUSY;
    const int result = copy_socket(fd, &own);
    return result == 0 ? share_socket(listeners, listener, own) : result;
}

int server_listeners_add(struct server_listeners *listeners, const int fds[], unsigned count,
                         const char *name, const struct server_listener_kind *kind)
{
    assert(count > 0);
    struct server_listener *listener = add_listener(listeners, name, kind);
    int result = listener != NULL ? 0 : FENCE_EBUSY;
    if (result == 0) {
        listener->sockets = count < listeners->workers ? count : listeners->workers;
        listener->shared = count < listeners->workers;
    }
    for (unsigned i = 0; i < listeners->workers && result == 0; i++)
        result = copy_socket(fds[i % count], &listener->fd[i]);
    for (unsigned i = listeners->workers; i < count && result == 0; i++)
        result = add_extra(listeners, fds[i], name, kind);
    return result;
}

void server_listeners_of(const struct server_listeners *listeners, unsigned worker,
                         struct api_door ret_listeners[static API_DOORS_MAX])
{
    assert(worker < listeners->workers && listeners->count <= API_DOORS_MAX);
    for (unsigned i = 0; i < listeners->count; i++)
        ret_listeners[i] = (struct api_door){
            .fd = listeners->listener[i].fd[worker],
            .tls = listeners->listener[i].speaks_tls ? listeners->tls : NULL,
            .metrics_only = listeners->listener[i].metrics_only,
            .shared = listeners->listener[i].shared,
            .stays = listeners->listener[i].stays,
        };
}

void server_listeners_given(struct server_listeners *listeners, unsigned worker)
{
    assert(worker < listeners->workers);
    for (unsigned i = 0; i < listeners->count; i++)
        listeners->listener[i].fd[worker] = -1;
}

void server_listeners_announce(const struct server_listeners *listeners)
{
    for (unsigned i = 0; i < listeners->count; i++)
        if (i == 0 || strcmp(listeners->listener[i].name, listeners->listener[i - 1].name) != 0)
            server_log(SERVER_LOG_INFO, "listening on %s%s%s", listeners->listener[i].name,
                       listeners->listener[i].speaks_tls ? ", TLS" : "",
                       listeners->listener[i].metrics_only ? ", for metrics" : "");
}

void server_listeners_close(struct server_listeners *listeners)
{
    for (unsigned i = 0; i < listeners->count; i++) {
        struct server_listener *listener = &listeners->listener[i];
        if (listener->is_file)
            api_socket_file_remove(&listener->file);
        for (unsigned worker = 0; worker < listeners->workers; worker++)
            if (listener->fd[worker] >= 0)
                (void)close(listener->fd[worker]);
    }
    listeners->count = 0;
}
