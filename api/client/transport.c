/* One HTTP call with libcurl: the request, the body of the answer, and what a problem says. */
#include "api/client/client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    CONNECT_TIMEOUT_MS = 4000, /* half of it is for the first of several addresses */
    KEEPALIVE_IDLE_S = 10,     /* ends a long wait about 25 s after the server's machine is down */
    KEEPALIVE_EACH_S = 5,
    SILENCE_S = 40, /* a stream has a heartbeat each 15 s */
};

static const char type_prefix[] = "urn:pawl:";
static const char stream_type[] = "text/event-stream";

/* ---- body ------------------------------------------------------------------------------------ */

struct body {
    char *text;
    size_t len;
    bool full;                      /* too long, or memory is short */
    const struct client_sink *sink; /* NULL: takes nothing */
    bool is_stream;                 /* @sink takes the answer */
    CURL *curl;
};

static size_t take_body(char *data, size_t size, size_t count, void *user)
{
    struct body *body = user;
    assert(body->len <= CLIENT_ANSWER_MAX);
    const size_t len = size * count;
    if (body->is_stream)
        return body->sink->take(body->sink->user, data, len) ? len : 0;
    if (len > CLIENT_ANSWER_MAX - body->len) {
        body->full = true;
        return 0;
    }
    char *text = realloc(body->text, body->len + len + 1);
    if (text == NULL) {
        body->full = true;
        return 0;
    }
    memcpy(text + body->len, data, len);
    body->text = text;
    body->len += len;
    return len;
}

/* The line behind the fields of an answer is empty. */
static size_t take_head(char *data, size_t size, size_t count, void *user)
{
    struct body *body = user;
    const size_t len = size * count;
    const char *type = NULL;
    long status = 0;
    if (body->sink == NULL || len != 2 || memcmp(data, "\r\n", len) != 0 ||
        curl_easy_getinfo(body->curl, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK ||
        curl_easy_getinfo(body->curl, CURLINFO_CONTENT_TYPE, &type) != CURLE_OK)
        return len;
    body->is_stream =
        status == 200 && type != NULL && strncmp(type, stream_type, sizeof(stream_type) - 1) == 0;
    if (body->is_stream)
        body->sink->begun(body->sink->user);
    return len;
}

/* ---- request --------------------------------------------------------------------------------- */

static bool add_header(struct curl_slist **headers, const char *header)
{
    struct curl_slist *longer = curl_slist_append(*headers, header);
    if (longer == NULL)
        return false;
    *headers = longer;
    return true;
}

/* On failure *ret_headers holds what was made until then. */
static bool make_headers(const pawl_client *client, const struct client_request *request,
                         struct curl_slist **ret_headers)
{
    assert(*ret_headers == NULL);
    char header[32 + PAWL_KEY_MAX];
    if (!add_header(ret_headers, "Expect:") ||
        !add_header(ret_headers, "Content-Type: application/json"))
        return false;
    if (client->key[0] != '\0') {
        (void)snprintf(header, sizeof(header), "Authorization: Bearer %s", client->key);
        if (!add_header(ret_headers, header))
            return false;
    }
    if (request->lock_id != NULL) {
        (void)snprintf(header, sizeof(header), "Lock-Id: %s", request->lock_id);
        if (!add_header(ret_headers, header))
            return false;
    }
    if (request->token > 0) {
        (void)snprintf(header, sizeof(header), "Fencing-Token: %lld", (long long)request->token);
        if (!add_header(ret_headers, header))
            return false;
    }
    if (request->waited_ms > 0) {
        (void)snprintf(header, sizeof(header), "Waited-Ms: %lld", (long long)request->waited_ms);
        if (!add_header(ret_headers, header))
            return false;
    }
    if (request->if_match > 0) {
        (void)snprintf(header, sizeof(header), "If-Match: \"%lld\"", (long long)request->if_match);
        if (!add_header(ret_headers, header))
            return false;
    }
    return true;
}

/* Makes a socket that no program started by the holder, and no child of a fork, inherits. */
static curl_socket_t make_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    (void)user;
    (void)purpose;
    client_own(fd);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *user, curl_socket_t fd)
{
    (void)user;
    client_close(fd);
    return 0;
}

/* libcurl asks at least once a second. */
static int ends_now(void *user, curl_off_t down_most, curl_off_t down, curl_off_t up_most,
                    curl_off_t up)
{
    const pawl_client *client = user;
    (void)down_most;
    (void)down;
    (void)up_most;
    (void)up;
    return (client->attempting && atomic_load(&client->cancelled)) ||
           pawl_now_ms() >= atomic_load(&client->give_up_ms) ||
           !client_owner_is_here(&client->owner);
}

static void set_tls(CURL *curl, const struct client_tls *tls)
{
    if (tls->ca_file[0] != '\0')
        curl_easy_setopt(curl, CURLOPT_CAINFO, tls->ca_file);
    if (tls->cert[0] != '\0')
        curl_easy_setopt(curl, CURLOPT_SSLCERT, tls->cert);
    if (tls->cert_key[0] != '\0')
        curl_easy_setopt(curl, CURLOPT_SSLKEY, tls->cert_key);
    else if (tls->cert[0] != '\0')
        curl_easy_setopt(curl, CURLOPT_SSLKEY, tls->cert);
}

static void set_options(pawl_client *client, const struct client_request *request,
                        struct body *body, struct curl_slist *headers)
{
    assert(client->current < client->server_count && request->method != NULL);
    CURL *curl = client->curl;
    const long timeout_ms = (long)(request->timeout_ms > 1 ? request->timeout_ms : 1);
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (request->body != NULL) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(request->body));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
    }
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, body);
    if (request->sink != NULL) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
    } else {
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
    }
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     timeout_ms < CONNECT_TIMEOUT_MS ? timeout_ms : (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ends_now);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, make_socket);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_DNS_CACHE_TIMEOUT, 0L); /* a server may move */
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* a slow resolver must not delay the end */
#endif
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    /* Uses no proxy of the environment: a proxy would see the key, and cut waits. */
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH,
                     client_socket(client->server[client->current]));
    client->curl_reason[0] = '\0';
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->curl_reason);
    set_tls(curl, &client->tls);
    client_watch_chain(client);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_EACH_S);
}

/* ---- answer ---------------------------------------------------------------------------------- */

void client_answer_free(struct client_answer *answer)
{
    json_decref(answer->json);
    answer->json = NULL;
}

static void read_answer(CURL *curl, const struct body *body, struct client_answer *ret_answer)
{
    assert(ret_answer->json == NULL);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &ret_answer->status);
    if (body->text != NULL)
        ret_answer->json = client_parse(body->text, body->len);
    const char *type = client_text(ret_answer->json, "type");
    const size_t prefix_len = sizeof(type_prefix) - 1;
    if (type != NULL && strncmp(type, type_prefix, prefix_len) == 0)
        (void)snprintf(ret_answer->type, sizeof(ret_answer->type), "%s", type + prefix_len);
}

/* Reports whether a retry would fail in the same way. libcurl also reports an unsupported protocol
 * for a bad answer: once it has connected, the server is wrong and not the setting. */
static bool is_wrong_setting(CURL *curl, CURLcode code)
{
    long connects = 0;
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT)
        return curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &connects) != CURLE_OK ||
               connects == 0;
    return code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM;
}

/* False where no connection came about. */
static bool may_have_reached(CURL *curl, CURLcode code)
{
    return code != CURLE_COULDNT_RESOLVE_HOST && code != CURLE_COULDNT_CONNECT &&
           code != CURLE_SSL_CONNECT_ERROR && code != CURLE_PEER_FAILED_VERIFICATION &&
           !is_wrong_setting(curl, code);
}

/* Reports whether a peer that took the request closed the connection. After a timeout the client
 * itself closed it. */
static bool was_cut(CURLcode code)
{
    return code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
           code == CURLE_PARTIAL_FILE;
}

/* For a socket libcurl only says that it could not connect to localhost. */
static const char *why_no_answer(pawl_client *client, CURLcode code)
{
    long system = 0;
    if (client_socket(client->server[client->current]) != NULL && code == CURLE_COULDNT_CONNECT &&
        curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &system) == CURLE_OK && system != 0)
        return strerror((int)system);
    return client->curl_reason[0] != '\0' ? client->curl_reason : curl_easy_strerror(code);
}

/* The error of a call that brought no answer. */
static int no_answer(pawl_client *client, CURLcode code, bool full)
{
    assert(client->current < client->server_count);
    const char *server = client->server[client->current];
    if (full) {
        client_say(client, "the answer of %s is too long, or memory ran out", server);
        return PAWL_EPROTOCOL;
    }
    if (client->bad_chain)
        client_say(client, "%s " CLIENT_BAD_CHAIN, server);
    else
        client_say(client, "%s does not answer: %s", server, why_no_answer(client, code));
    client->current = (client->current + 1) % client->server_count;
    if (code == CURLE_OUT_OF_MEMORY)
        return PAWL_ENOMEM;
    return is_wrong_setting(client->curl, code) ? PAWL_EINVAL : PAWL_EUNAVAILABLE;
}

int client_ask(pawl_client *client, const struct client_request *request,
               struct client_answer *ret_answer)
{
    assert(request->path[0] == '/');
    int error = client_check_owner(client);
    char url[CLIENT_URL_MAX + CLIENT_PATH_MAX];
    struct curl_slist *headers = NULL;
    struct body body = {.text = NULL, .sink = request->sink, .curl = client->curl};

    if (error < 0)
        return error;
    error = PAWL_ENOMEM;
    client_say(client, "out of memory");
    client->reached = false;
    client->cut = false;
    const char *server = client->server[client->current];
    (void)snprintf(url, sizeof(url), "%s%s",
                   client_socket(server) != NULL ? "http://localhost" : server, request->path);
    if (!make_headers(client, request, &headers))
        goto out;
    set_options(client, request, &body, headers);
    if (curl_easy_setopt(client->curl, CURLOPT_URL, url) != CURLE_OK)
        goto out;

    struct client_answer answer = {.sent_ms = pawl_now_ms()};
    const CURLcode code = curl_easy_perform(client->curl);
    client->reached = may_have_reached(client->curl, code) && !client->bad_chain;
    client->cut = client->reached && was_cut(code);
    error = client_check_owner(client); /* a handler of a signal may have forked */
    if (error < 0)
        goto out;
    if (code != CURLE_OK) {
        error = no_answer(client, code, body.full);
        goto out;
    }
    answer.came_ms = pawl_now_ms();
    read_answer(client->curl, &body, &answer);
    *ret_answer = answer;
    client->reason[0] = '\0';
    error = 0;
out:
    curl_slist_free_all(headers);
    free(body.text);
    return error;
}

/* ---- problems -------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    int error;
} problems[] = {
    {"held", PAWL_EHELD},
    {"wait-timeout", PAWL_EHELD},
    {"contended", PAWL_EHELD},
    {"lock-lost", PAWL_ELOST},
    {"lock-broken", PAWL_ELOST},
    {"extensions-exhausted", PAWL_EEXHAUSTED},
    {"no-quorum", PAWL_EUNAVAILABLE},
    {"too-slow", PAWL_EUNAVAILABLE},
    {"not-ready", PAWL_EUNAVAILABLE},
    {"no-memory", PAWL_EUNAVAILABLE},
    {"stopping", PAWL_EUNAVAILABLE},
    {"busy", PAWL_EUNAVAILABLE},
    {"too-many-waiters", PAWL_EUNAVAILABLE},
    {"request-timeout", PAWL_EUNAVAILABLE},
};

static int problem_error(const struct client_answer *answer)
{
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
        if (strcmp(answer->type, problems[i].type) == 0)
            return problems[i].error;
    if (answer->status >= 500 || answer->status == 429 || answer->status == 408) /* a proxy's too */
        return PAWL_EUNAVAILABLE;
    if (answer->type[0] == '\0')
        return PAWL_EPROTOCOL;
    return answer->status == 400 ? PAWL_EINVAL : PAWL_EREFUSED;
}

/* Reads the holder that blocks the call. False: the server does not name it. */
static bool say_holder(pawl_client *client, const struct client_answer *answer)
{
    if (strcmp(answer->type, "contended") == 0)
        return false; /* the lock may be free */
    const char *name = client_text(answer->json, "resource");
    const char *owner = client_text(answer->json, "owner");
    const int64_t left_ms = client_integer(answer->json, "retry_after_ms");
    if (name == NULL || name[0] == '\0')
        return false;
    if (owner == NULL || owner[0] == '\0')
        owner = "another caller";
    if (left_ms < 0)
        client_say(client, "%s is held by %s", name, owner);
    else
        client_say(client, "%s is held by %s, for %lld.%lld s unless extended", name, owner,
                   (long long)(left_ms / 1000), (long long)(left_ms % 1000 / 100));
    client->is_named = true;
    return true;
}

/* The key that broke the lock; without keys the server does not know. False: it was not broken. */
static bool say_breaker(pawl_client *client, const struct client_answer *answer)
{
    const char *name = client_text(answer->json, "resource");
    const char *by = client_text(answer->json, "by");
    if (strcmp(answer->type, "lock-broken") != 0 || name == NULL)
        return false;
    client_say(client, "%s was broken by %s", name, by != NULL ? by : "an operator");
    client->is_named = true;
    return true;
}

static bool say_lost(pawl_client *client, const struct client_answer *answer)
{
    const char *name = client_text(answer->json, "resource");
    if (strcmp(answer->type, "lock-lost") != 0 || name == NULL || name[0] == '\0')
        return false;
    client_say(client,
               "%s is no longer held under this lock id and token: stop the work, and acquire the "
               "lock again",
               name);
    client->is_named = true;
    return true;
}

/* A caller of a client knows names; the protocol calls them resources. */
#define THE_RESOURCE "The resource"

static void say_problem(pawl_client *client, const struct client_answer *answer, int error)
{
    const char *detail = client_text(answer->json, "detail");
    if ((error == PAWL_EHELD && say_holder(client, answer)) || say_breaker(client, answer) ||
        say_lost(client, answer))
        return;
    const size_t resource = sizeof(THE_RESOURCE) - 1;
    if (answer->type[0] != '\0' && detail != NULL && strncmp(detail, THE_RESOURCE, resource) == 0)
        client_say(client, "A name%s", detail + resource);
    else if (answer->type[0] != '\0' && detail != NULL && detail[0] != '\0')
        client_say(client, "%s", detail);
    else
        client_say(client, "%s returned an unexpected %ld: is this a pawld?",
                   client->server[client->current], answer->status);
}

static void keep_problem(pawl_client *client, const struct client_answer *answer)
{
    const size_t len =
        json_dumpb(answer->json, client->problem, sizeof(client->problem), JSON_COMPACT);
    client->problem[answer->type[0] != '\0' && len < sizeof(client->problem) ? len : 0] = '\0';
}

int client_problem(pawl_client *client, const struct client_answer *answer)
{
    assert(client->current < client->server_count);
    const int error = problem_error(answer);
    say_problem(client, answer, error);
    keep_problem(client, answer);
    if (error == PAWL_EUNAVAILABLE)
        client->current = (client->current + 1) % client->server_count;
    return error;
}

bool client_is_foreign(const struct client_answer *answer)
{
    return answer->type[0] == '\0' && (answer->status >= 300 || answer->json == NULL);
}

bool client_may_repeat(int error)
{
    return error == PAWL_EUNAVAILABLE;
}

int client_path(pawl_client *client, const char *prefix, const char *name,
                char ret_path[static CLIENT_PATH_MAX])
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~:@/-";
    const size_t len = strnlen(name, PAWL_NAME_MAX + 1);
    if (len == 0 || len > PAWL_NAME_MAX) {
        client_say(client, "a name must have 1 to %d characters", PAWL_NAME_MAX);
        return PAWL_EINVAL;
    }
    size_t at = (size_t)snprintf(ret_path, CLIENT_PATH_MAX, "%s", prefix);
    for (size_t i = 0; i < len; i++) {
        const bool as_it_is = strchr(plain, name[i]) != NULL;
        at += (size_t)snprintf(ret_path + at, CLIENT_PATH_MAX - at, as_it_is ? "%c" : "%%%02X",
                               (unsigned char)name[i]);
    }
    assert(at < CLIENT_PATH_MAX);
    return 0;
}
