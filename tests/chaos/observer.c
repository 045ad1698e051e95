#include "tests/chaos/observer.h"

#include "tests/lib/case.h"
#include "tests/lib/port.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MACHINES_MAX = 512, /* servers of a run, of which many are replaced */
    SEATS_MAX = 64,     /* connections to one server; more are closed at once */
    READ_MAX = 64 * 1024,
    BACKLOG = 64,
    SCRIPT_END = 200, /* bytes, with the end of line */
    TURN_MS = 200,    /* between two looks at whether the run is over */
    WRAPPED = 5,      /* replies of a transaction: MULTI, three times QUEUED, EXEC */
    LOOKS_AND_REPLY = 3,
};

/* Answers in JSON: the marker and the counters, the role, the lineage, whether the append-only file
 * is on, and each lock that is there: its key, its value and what is left of its lease. The locks
 * are those of KEYS; all, where there are none. */
static const char look[] =
    "local info = redis.call('INFO', 'replication', 'stats', 'persistence') "
    "local keys, locks, fields = {unpack(KEYS, 2)}, {}, {} "
    "if #keys == 0 then keys = redis.call('KEYS', 'pawl:lock:*') end "
    "for _, key in ipairs(keys) do local value = redis.pcall('GET', key) "
    "if type(value) == 'string' then "
    "locks[#locks + 1] = {key, value, redis.call('PTTL', key)} end end "
    "local fleet, told = redis.pcall('HGETALL', KEYS[1]), "
    "{state = 1, next = 1, view = 1, lineage = 1, durable = 1, floor = 1, progress = 1} "
    "for i = 1, #fleet, 2 do local field = fleet[i] "
    "if told[field] or string.find(field, '^%d') or string.find(field, '^n:') then "
    "fields[field] = fleet[i + 1] end end "
    "return cjson.encode({fields, string.match(info, '\\nrole:(%a+)'), "
    "string.match(info, '\\nmaster_replid:(%x+)') .. ':' .. "
    "string.match(info, '\\nevicted_keys:(%d+)'), "
    "string.match(info, '\\naof_enabled:(%d)'), locks})";

struct bytes {
    char *at;
    size_t len;
    size_t size;
};

/* One connection of pawld, and ours to the server. */
struct seat {
    int client; /* -1: none */
    int server;
    bool passes; /* it subscribed: bytes are passed on as they come */
    struct bytes asked;
    struct bytes answered;
};

struct machine {
    struct observer *observer;
    unsigned member;
    uint16_t upstream;
    uint16_t port;
    int listener;
    pthread_t thread;
    struct seat seats[SEATS_MAX];
};

struct observer {
    FILE *out;
    pthread_mutex_t lock; /* on @out */
    atomic_bool over;
    unsigned count;
    struct machine *machines[MACHINES_MAX];
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static void add(struct bytes *bytes, const char *at, size_t len)
{
    if (bytes->len + len > bytes->size) {
        bytes->size = 2 * (bytes->len + len);
        bytes->at = realloc(bytes->at, bytes->size);
        assert_non_null(bytes->at);
    }
    memcpy(bytes->at + bytes->len, at, len);
    bytes->len += len;
}

static void drop(struct bytes *bytes, size_t len)
{
    bytes->len -= len;
    memmove(bytes->at, bytes->at + len, bytes->len);
}

/* The length of the line at @at, with its end; 0: it is not all there. */
static size_t line_len(const char *at, size_t len)
{
    const char *end = memchr(at, '\n', len);
    return end ? (size_t)(end - at) + 1 : 0;
}

/* The length of the first value of Redis' protocol; 0: it is not all there. */
static size_t value_len(const char *at, size_t len)
{
    size_t used = line_len(at, len);
    if (used == 0 || (at[0] != '$' && at[0] != '*'))
        return used;
    const long count = strtol(at + 1, NULL, 10);
    if (at[0] == '$' && count >= 0)
        used += (size_t)count + 2;
    for (long k = 0; at[0] == '*' && k < count; k++) {
        const size_t one = used < len ? value_len(at + used, len - used) : 0;
        if (one == 0)
            return 0;
        used += one;
    }
    return used <= len ? used : 0;
}

/* Value @k of the array at @at, which is all there. */
static const char *element(const char *at, size_t len, unsigned k, size_t *ret_len)
{
    size_t used = line_len(at, len);
    for (unsigned i = 0; i < k; i++)
        used += value_len(at + used, len - used);
    *ret_len = value_len(at + used, len - used);
    return at + used;
}

/* ---- the server ------------------------------------------------------------------------------ */

static bool send_all(int fd, const struct bytes *bytes)
{
    for (size_t sent = 0; sent < bytes->len;) {
        const ssize_t len = send(fd, bytes->at + sent, bytes->len - sent, MSG_NOSIGNAL);
        if (len <= 0 && errno != EINTR)
            return false;
        sent += len > 0 ? (size_t)len : 0;
    }
    return true;
}

/* Reads @count values into @replies, which is empty. False: the server has gone. It may be stopped
 * for seconds. */
static bool receive(int fd, unsigned count, struct bytes *replies)
{
    char bytes[READ_MAX];
    size_t used = 0;
    while (count > 0) {
        const size_t one =
            used < replies->len ? value_len(replies->at + used, replies->len - used) : 0;
        if (one > 0) {
            used += one;
            count--;
            continue;
        }
        const ssize_t len = recv(fd, bytes, sizeof(bytes), 0);
        if (len == 0 || (len < 0 && errno != EINTR))
            return false;
        if (len > 0)
            add(replies, bytes, (size_t)len);
    }
    return true;
}

static void add_bulk(struct bytes *bytes, const char *text, size_t len)
{
    char head[32];
    add(bytes, head, (size_t)snprintf(head, sizeof(head), "$%zu\r\n", len));
    add(bytes, text, len);
    add(bytes, "\r\n", 2);
}

/* EVAL of the look, with the keys of the call if it is an EVALSHA: the fleet's and those of locks.
 */
static void add_look(struct bytes *bytes, const char *call, size_t call_len)
{
    enum {
        NAME,
        SCRIPT,
        KEYS,
        FIRST,
    };
    char head[32];
    size_t len = 0;
    const char *text = element(call, call_len, NAME, &len);
    const bool all = line_len(text, len) + strlen("EVAL\r\n") == len;
    text = element(call, call_len, KEYS, &len);
    const unsigned keys = all ? 1 : (unsigned)strtoul(text + line_len(text, len), NULL, 10);
    add(bytes, head, (size_t)snprintf(head, sizeof(head), "*%u\r\n", FIRST + keys));
    add_bulk(bytes, "EVAL", 4);
    add_bulk(bytes, look, sizeof(look) - 1);
    add_bulk(bytes, head, (size_t)snprintf(head, sizeof(head), "%u", keys));
    for (unsigned k = 0; k < keys; k++) {
        text = element(call, call_len, FIRST + k, &len);
        add(bytes, text, len);
    }
}

/* Of a long script the end alone: it tells which script it is. */
static struct bytes shortened(const char *call, size_t call_len)
{
    size_t script_len = 0;
    struct bytes text = {0};
    const char *script = element(call, call_len, 1, &script_len);
    const char *rest = script + script_len;
    add(&text, call, (size_t)(script - call));
    if (script_len > SCRIPT_END)
        add_bulk(&text, rest - SCRIPT_END, SCRIPT_END - 2);
    else
        add(&text, script, script_len);
    add(&text, rest, call_len - (size_t)(rest - call));
    return text;
}

/* @replies: those of the transaction; NULL: the server has gone, or did nothing. */
static void write_record(const struct machine *machine, const char *call, size_t call_len,
                         const char *replies, size_t replies_len)
{
    struct observer *observer = machine->observer;
    struct bytes text = shortened(call, call_len);
    const char *part[LOOKS_AND_REPLY] = {"", "", ""};
    size_t len[LOOKS_AND_REPLY] = {0};
    for (unsigned k = 0; replies && k < LOOKS_AND_REPLY; k++)
        part[k] = element(replies, replies_len, k, &len[k]);
    pthread_mutex_lock(&observer->lock);
    fprintf(observer->out, "%u %u %zu %zu %zu %zu\n", machine->member, (unsigned)machine->upstream,
            text.len, len[0], len[1], len[2]);
    (void)fwrite(text.at, 1, text.len, observer->out);
    for (unsigned k = 0; k < LOOKS_AND_REPLY; k++)
        (void)fwrite(part[k], 1, len[k], observer->out);
    pthread_mutex_unlock(&observer->lock);
    free(text.at);
}

/* Has the server execute a script call between two looks. */
static bool observe(struct machine *machine, struct seat *seat, size_t call_len)
{
    static const char begin[] = "*1\r\n$5\r\nMULTI\r\n", end[] = "*1\r\n$4\r\nEXEC\r\n";
    const char *call = seat->asked.at;
    struct bytes out = {0}, in = {0};
    add(&out, begin, sizeof(begin) - 1);
    add_look(&out, call, call_len);
    add(&out, call, call_len);
    add_look(&out, call, call_len);
    add(&out, end, sizeof(end) - 1);
    const bool done = send_all(seat->server, &out) && receive(seat->server, WRAPPED, &in);
    size_t used = 0, len = 0, queued_len = 0;
    const char *queued = NULL;
    for (unsigned k = 0; done && k < WRAPPED - 1; k++) {
        len = value_len(in.at + used, in.len - used);
        if (k == 2) { /* behind MULTI and the first look */
            queued = in.at + used;
            queued_len = len;
        }
        used += len;
    }
    const char *replies = done ? in.at + used : NULL;
    const size_t replies_len = done ? in.len - used : 0;
    const bool executed = done && replies[0] == '*';
    write_record(machine, call, call_len, executed ? replies : NULL, replies_len);
    if (executed)
        queued = element(replies, replies_len, 1, &queued_len);
    else if (done && queued[0] != '-')
        queued = replies, queued_len = replies_len;
    if (done)
        add(&seat->answered, queued, queued_len); /* or why it executes nothing now */
    free(out.at);
    free(in.at);
    return done;
}

/* ---- pawld ----------------------------------------------------------------------------------- */

static void leave(struct seat *seat)
{
    close(seat->client);
    close(seat->server);
    free(seat->asked.at);
    free(seat->answered.at);
    *seat = (struct seat){.client = -1, .server = -1};
}

static bool is_command(const char *call, size_t call_len, const char *name)
{
    size_t len = 0;
    const char *text = element(call, call_len, 0, &len);
    const size_t head = line_len(text, len);
    return len == head + strlen(name) + 2 && strncasecmp(text + head, name, strlen(name)) == 0;
}

static bool pass(struct seat *seat, size_t call_len)
{
    const struct bytes call = {.at = seat->asked.at, .len = call_len};
    struct bytes reply = {0};
    seat->passes = is_command(call.at, call.len, "SUBSCRIBE");
    bool done = send_all(seat->server, &call);
    if (done && !seat->passes)
        done = receive(seat->server, 1, &reply);
    if (reply.len > 0)
        add(&seat->answered, reply.at, reply.len);
    free(reply.at);
    return done;
}

/* Executes what the client has asked, in order. */
static bool serve(struct machine *machine, struct seat *seat)
{
    while (!seat->passes) {
        const size_t len = value_len(seat->asked.at, seat->asked.len);
        if (len == 0)
            return true;
        const bool script =
            is_command(seat->asked.at, len, "EVALSHA") || is_command(seat->asked.at, len, "EVAL");
        if (!(script ? observe(machine, seat, len) : pass(seat, len)))
            return false;
        drop(&seat->asked, len);
    }
    const bool sent = send_all(seat->server, &seat->asked);
    seat->asked.len = 0;
    return sent;
}

static bool read_some(int fd, struct bytes *bytes)
{
    char some[READ_MAX];
    const ssize_t len = recv(fd, some, sizeof(some), MSG_DONTWAIT);
    if (len > 0)
        add(bytes, some, (size_t)len);
    return len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool write_some(struct seat *seat)
{
    if (seat->answered.len == 0)
        return true;
    const ssize_t len =
        send(seat->client, seat->answered.at, seat->answered.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (len > 0)
        drop(&seat->answered, (size_t)len);
    return len > 0 || errno == EAGAIN || errno == EINTR;
}

static void take_seat(struct machine *machine)
{
    const struct sockaddr_in address = port_address(machine->upstream);
    const int client = accept4(machine->listener, NULL, NULL, SOCK_CLOEXEC);
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unsigned k = 0;
    while (k < SEATS_MAX && machine->seats[k].client >= 0)
        k++;
    if (client >= 0 && server >= 0 && k < SEATS_MAX &&
        connect(server, (const struct sockaddr *)&address, sizeof(address)) == 0) {
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        machine->seats[k].client = client;
        machine->seats[k].server = server;
        return;
    }
    if (client >= 0)
        close(client);
    if (server >= 0)
        close(server);
}

/* ---- the thread of a server ------------------------------------------------------------------ */

/* What the client sent before it left is executed, as Redis does. */
static void tend(struct machine *machine, struct seat *seat, short client_events,
                 short server_events)
{
    bool stays = true;
    if (client_events & (POLLIN | POLLHUP | POLLERR))
        stays = read_some(seat->client, &seat->asked);
    if (!serve(machine, seat) ||
        (server_events != 0 && !read_some(seat->server, &seat->answered)) || !write_some(seat) ||
        !stays)
        leave(seat);
}

static void *watch(void *arg)
{
    struct machine *machine = arg;
    while (!atomic_load(&machine->observer->over)) {
        struct pollfd fds[1 + 2 * SEATS_MAX];
        fds[0] = (struct pollfd){.fd = machine->listener, .events = POLLIN};
        for (unsigned k = 0; k < SEATS_MAX; k++) {
            struct seat *seat = &machine->seats[k];
            const short writes = seat->answered.len > 0 ? POLLOUT : 0;
            fds[1 + 2 * k] = (struct pollfd){.fd = seat->client, .events = POLLIN | writes};
            fds[2 + 2 * k] = (struct pollfd){.fd = seat->server, .events = POLLIN};
        }
        (void)poll(fds, 1 + 2 * SEATS_MAX, TURN_MS);
        for (unsigned k = 0; k < SEATS_MAX; k++)
            if (machine->seats[k].client >= 0 && (fds[1 + 2 * k].revents | fds[2 + 2 * k].revents))
                tend(machine, &machine->seats[k], fds[1 + 2 * k].revents, fds[2 + 2 * k].revents);
        if (fds[0].revents & POLLIN)
            take_seat(machine);
    }
    for (unsigned k = 0; k < SEATS_MAX; k++)
        if (machine->seats[k].client >= 0)
            leave(&machine->seats[k]);
    return NULL;
}

static void machine_start(struct machine *machine)
{
    const struct sockaddr_in address = port_address(machine->port);
    machine->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(machine->listener >= 0);
    setsockopt(machine->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    assert_int_equal(bind(machine->listener, (const struct sockaddr *)&address, sizeof(address)),
                     0);
    assert_int_equal(listen(machine->listener, BACKLOG), 0);
    for (unsigned k = 0; k < SEATS_MAX; k++)
        machine->seats[k].client = machine->seats[k].server = -1;
    assert_int_equal(pthread_create(&machine->thread, NULL, watch, machine), 0);
}

/* ---- all ------------------------------------------------------------------------------------- */

struct observer *observer_new(const char *path)
{
    struct observer *observer = calloc(1, sizeof(*observer));
    assert_non_null(observer);
    pthread_mutex_init(&observer->lock, NULL);
    observer->out = fopen(path, "w");
    assert_non_null(observer->out);
    return observer;
}

uint16_t observer_port(struct observer *observer, unsigned member, uint16_t upstream)
{
    for (unsigned i = 0; i < observer->count; i++)
        if (observer->machines[i]->upstream == upstream)
            return observer->machines[i]->port;
    struct machine *machine = calloc(1, sizeof(*machine));
    assert_non_null(machine);
    assert_in_range(observer->count, 0, MACHINES_MAX - 1);
    observer->machines[observer->count++] = machine;
    machine->observer = observer;
    machine->member = member;
    machine->upstream = upstream;
    machine->port = port_free();
    machine_start(machine);
    return machine->port;
}

void observer_free(struct observer *observer)
{
    if (!observer)
        return;
    atomic_store(&observer->over, true);
    for (unsigned i = 0; i < observer->count; i++) {
        pthread_join(observer->machines[i]->thread, NULL);
        close(observer->machines[i]->listener);
        free(observer->machines[i]);
    }
    (void)fclose(observer->out);
    pthread_mutex_destroy(&observer->lock);
    free(observer);
}
