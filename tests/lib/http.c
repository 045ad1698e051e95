#include "tests/lib/http.h"

#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/tls.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SILENCE_S = 10, /* how long a test waits for the next byte */
    CHUNK = 16 * 1024,
};

struct http {
    int fd;
    struct tls_client *tls; /* NULL: plain HTTP */
    bool ended;             /* the peer sends no more */
    char *buffer;           /* received and not yet given out; always terminated */
    size_t len;
};

/* ---- the connection -------------------------------------------------------------------------- */

/* NULL, with errno, where no process listens. */
static struct http *try_connect(uint16_t port)
{
    const struct sockaddr_in address = port_address(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        const int error = errno;
        close(fd);
        errno = error;
        return NULL;
    }
    const struct timeval silence = {.tv_sec = SILENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof(silence));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));

    struct http *http = calloc(1, sizeof(*http));
    assert_non_null(http);
    http->fd = fd;
    http->buffer = strdup("");
    return http;
}

/* As all tests of this process speak. A handshake that fails is an end of the connection. */
static struct http *try_connect_as_all(uint16_t port)
{
    struct http *http = try_connect(port);
    if (!http || !tls_everywhere())
        return http;
    http->tls = tls_client_new(http->fd, &(struct tls_side){.ca = tls_service()->ca});
    http->ended = !http->tls;
    return http;
}

/* Fails the test where @http is NULL. */
static struct http *connected(struct http *http, uint16_t port)
{
    if (!http)
        fail_msg("cannot connect to 127.0.0.1:%u: %s", (unsigned)port, strerror(errno));
    return http;
}

struct http *http_connect_tls(uint16_t port, const struct tls_side *side)
{
    struct http *http = connected(try_connect(port), port);
    http->tls = tls_client_new(http->fd, side);
    if (http->tls)
        return http;
    http_close(http);
    return NULL;
}

void http_peer(const struct http *http, char *ret_name, size_t cap)
{
    tls_client_peer(http->tls, ret_name, cap);
}

struct http *http_connect(uint16_t port)
{
    return connected(try_connect_as_all(port), port);
}

int http_fd(const struct http *http)
{
    return http->fd;
}

void http_close(struct http *http)
{
    if (!http)
        return;
    tls_client_free(http->tls);
    close(http->fd);
    free(http->buffer);
    free(http);
}

static ssize_t send_some(struct http *http, const char *bytes, size_t len)
{
    return http->tls ? tls_client_send(http->tls, bytes, len)
                     : send(http->fd, bytes, len, MSG_NOSIGNAL);
}

ssize_t http_receive_bytes(struct http *http, void *buffer, size_t size)
{
    return http->tls ? tls_client_receive(http->tls, buffer, size)
                     : recv(http->fd, buffer, size, 0);
}

bool http_send(struct http *http, const void *bytes, size_t len)
{
    const char *at = bytes;
    if (http->ended && tls_everywhere() && !http->tls)
        return false;
    while (len > 0) {
        ssize_t n = send_some(http, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* Adds what has come to the buffer. False at the end of the connection. */
static bool receive_more(struct http *http)
{
    if (http->ended)
        return false;
    char *grown = realloc(http->buffer, http->len + CHUNK + 1);
    assert_non_null(grown);
    http->buffer = grown;
    ssize_t n;
    do
        n = http_receive_bytes(http, http->buffer + http->len, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        fail_msg("no answer within %d s; so far: %s", SILENCE_S, http->buffer);
    http->ended = n <= 0; /* a reset ends it too */
    if (n > 0)
        http->len += (size_t)n;
    http->buffer[http->len] = '\0';
    return !http->ended;
}

/* Takes the first @len bytes, which are there, out of the buffer; the caller frees them. */
static char *take(struct http *http, size_t len)
{
    char *taken = malloc(len + 1);
    assert_non_null(taken);
    memcpy(taken, http->buffer, len);
    taken[len] = '\0';
    http->len -= len;
    memmove(http->buffer, http->buffer + len, http->len + 1);
    return taken;
}

/* ---- one response ---------------------------------------------------------------------------- */

/* Reads up to and with @mark, and takes it out. NULL if the connection ends before. */
static char *take_through(struct http *http, const char *mark)
{
    for (;;) {
        const char *found = memmem(http->buffer, http->len, mark, strlen(mark));
        if (found)
            return take(http, (size_t)(found - http->buffer) + strlen(mark));
        if (!receive_more(http))
            return NULL;
    }
}

/* NULL if the connection ends before there are @len bytes. */
static char *take_bytes(struct http *http, size_t len)
{
    while (http->len < len)
        if (!receive_more(http))
            return NULL;
    return take(http, len);
}

/* RFC 9112, section 7.1: chunks, each after its length in hexadecimal, the last of length 0. */
static char *take_chunked(struct http *http, size_t *ret_len)
{
    char *body = NULL;
    size_t body_len = 0;
    FILE *out = open_memstream(&body, &body_len);
    assert_non_null(out);
    size_t len = 0;
    do {
        char *line = take_through(http, "\r\n");
        len = line ? strtoul(line, NULL, 16) : 0;
        char *chunk = line ? take_bytes(http, len + strlen("\r\n")) : NULL;
        const bool whole = chunk != NULL;
        if (whole)
            fwrite(chunk, 1, len, out);
        free(chunk);
        free(line);
        if (!whole) {
            fclose(out);
            free(body);
            return NULL;
        }
    } while (len > 0);
    fclose(out);
    *ret_len = body_len;
    return body;
}

/* RFC 9112, section 6.3: how long the body is. NULL if the connection ends within. */
static char *take_body(struct http *http, bool head_request, const struct http_response *response,
                       size_t *ret_len)
{
    char value[64];
    if (head_request || response->status < 200 || response->status == 204 ||
        response->status == 304) {
        *ret_len = 0;
        return take(http, 0);
    }
    if (http_header(response, "Transfer-Encoding", value, sizeof(value)))
        return take_chunked(http, ret_len);
    if (http_header(response, "Content-Length", value, sizeof(value))) {
        *ret_len = strtoul(value, NULL, 10);
        return take_bytes(http, *ret_len);
    }
    while (receive_more(http))
        continue;
    *ret_len = http->len;
    return take(http, http->len);
}

static void read_response(struct http *http, bool head_request, struct http_response *response)
{
    static const char version[] = "HTTP/1.1 ";
    response->head = take_through(http, "\r\n\r\n");
    if (!response->head || strncmp(response->head, version, strlen(version)) != 0)
        return;
    response->status = (int)strtol(response->head + strlen(version), NULL, 10);
    response->body = take_body(http, head_request, response, &response->body_len);
    if (!response->body)
        response->status = 0;
    else
        response->json = json_loadb(response->body, response->body_len, JSON_DECODE_ANY, NULL);
}

void http_receive(struct http *http, bool head_request, struct http_response *ret_response)
{
    struct http_response response = {0};
    do { /* "100 Continue" and its like precede the response proper */
        http_response_fini(&response);
        read_response(http, head_request, &response);
    } while (response.status >= 100 && response.status < 200);
    if (!response.head)
        response.head = strdup("");
    if (!response.body)
        response.body = strdup("");
    *ret_response = response;
}

void http_response_fini(struct http_response *response)
{
    free(response->head);
    free(response->body);
    json_decref(response->json);
    *response = (struct http_response){0};
}

/* ---- requests -------------------------------------------------------------------------------- */

void http_request(struct http *http, const char *method, const char *path, const char *headers,
                  const char *body, struct http_response *ret_response)
{
    if (!headers)
        headers = "";
    char *request = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&request, &len);
    assert_non_null(out);
    fprintf(out, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s", method, path, headers);
    if (body && !strcasestr(headers, "Content-Type:"))
        fputs("Content-Type: application/json\r\n", out);
    if (body)
        fprintf(out, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    else
        fputs("\r\n", out);
    fclose(out);
    http_send(http, request, len); /* refused half-way: there may be a response that says why */
    free(request);
    http_receive(http, strcmp(method, "HEAD") == 0, ret_response);
}

void http_once(uint16_t port, const char *method, const char *path, const char *headers,
               const char *body, struct http_response *ret_response)
{
    struct http *http = try_connect_as_all(port);
    if (!http) {
        *ret_response = (struct http_response){.head = strdup(""), .body = strdup("")};
        return;
    }
    http_request(http, method, path, headers, body, ret_response);
    http_close(http);
}

/* ---- looking into a response ----------------------------------------------------------------- */

bool http_header(const struct http_response *response, const char *name, char *ret_value,
                 size_t cap)
{
    const size_t name_len = strlen(name);
    ret_value[0] = '\0';
    const char *line = response->head ? strstr(response->head, "\r\n") : NULL;
    for (; line; line = strstr(line, "\r\n")) {
        line += strlen("\r\n");
        if (strncasecmp(line, name, name_len) != 0 || line[name_len] != ':')
            continue;
        const char *value = line + name_len + 1;
        value += strspn(value, " \t");
        snprintf(ret_value, cap, "%.*s", (int)strcspn(value, "\r"), value);
        return true;
    }
    return false;
}

static const json_t *member(const struct http_response *response, const char *name)
{
    const json_t *value = json_object_get(response->json, name);
    if (!value)
        fail_msg("no member \"%s\" in %d %s", name, response->status, response->body);
    return value;
}

const char *http_string(const struct http_response *response, const char *name)
{
    const char *value = json_string_value(member(response, name));
    if (!value)
        fail_msg("\"%s\" is no string in %d %s", name, response->status, response->body);
    return value;
}

int64_t http_integer(const struct http_response *response, const char *name)
{
    const json_t *value = member(response, name);
    if (!json_is_integer(value))
        fail_msg("\"%s\" is no integer in %d %s", name, response->status, response->body);
    return json_integer_value(value);
}

bool http_boolean(const struct http_response *response, const char *name)
{
    const json_t *value = member(response, name);
    if (!json_is_boolean(value))
        fail_msg("\"%s\" is no boolean in %d %s", name, response->status, response->body);
    return json_is_true(value);
}
