/* Which servers a client calls: URLs, and sockets of files. */
#include "api/client/client.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    SERVERS_TEXT_MAX = PAWL_SERVERS_MAX * CLIENT_URL_MAX,
    SOCKET_PATH_MAX = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1, /* bytes */
};

#define BLANKS      " \t\r\n"
#define UNIX_PREFIX "unix:" /* as pawld --listen spells it */

const char *client_socket(const char *server)
{
    const size_t len = sizeof(UNIX_PREFIX) - 1;
    return strncmp(server, UNIX_PREFIX, len) == 0 ? server + len : NULL;
}

static int check_socket(pawl_client *client, const char *source, const char *server)
{
    const char *path = client_socket(server);
    assert(path != NULL);
    if (path[0] != '/' || path[1] == '\0')
        return client_wrong(client, source,
                            "'%s' has no absolute path; a socket is given as unix:/PATH, such as "
                            "unix:/run/pawl/pawld.sock",
                            server);
    if (strlen(path) > SOCKET_PATH_MAX)
        return client_wrong(client, source,
                            "'%s' is too long: the path of a socket has at most %d bytes", server,
                            SOCKET_PATH_MAX);
    return 0;
}

static bool has_part(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    const bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return has;
}

static int check_url(pawl_client *client, const char *source, const char *server)
{
    CURLU *url = curl_url();
    if (url == NULL)
        return PAWL_ENOMEM;
    const bool known_scheme =
        strncasecmp(server, "http://", 7) == 0 || strncasecmp(server, "https://", 8) == 0;
    const CURLUcode code = curl_url_set(url, CURLUPART_URL, server, 0);
    const bool extra = has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT);
    char *port = NULL;
    const bool is_port_0 =
        curl_url_get(url, CURLUPART_PORT, &port, 0) == CURLUE_OK && strtol(port, NULL, 10) == 0;
    curl_free(port);
    curl_url_cleanup(url);
    if (known_scheme && (code == CURLUE_BAD_PORT_NUMBER || is_port_0))
        return client_wrong(client, source, "'%s' has an invalid port: a port must be 1 to 65535",
                            server);
    if (!known_scheme || code != CURLUE_OK || extra)
        return client_wrong(client, source,
                            "'%s' is not a valid URL of a server, such as " PAWL_SERVER_DEFAULT,
                            server);
    return 0;
}

static int check_server(pawl_client *client, const char *source, const char *server)
{
    if (client_socket(server) != NULL)
        return check_socket(client, source, server);
    if (strchr(server, '@') != NULL) /* it may be a password, which no sentence shows */
        return client_wrong(
            client, source,
            "a server URL must not contain a user or a password; use a key instead");
    if (strchr(server, ',') != NULL)
        return client_wrong(client, source,
                            "'%s' has a comma: give each server separately; in PAWL_SERVER put a "
                            "space between two servers",
                            server);
    return check_url(client, source, server);
}

static int add_server(pawl_client *client, const char *source, const char *url, size_t len)
{
    assert(client->server_count <= PAWL_SERVERS_MAX);
    if (client->server_count == PAWL_SERVERS_MAX)
        return client_wrong(client, source, "there are more than %d servers", PAWL_SERVERS_MAX);
    if (len >= CLIENT_URL_MAX)
        return client_wrong(client, source, "a URL of a server has at most %d bytes",
                            CLIENT_URL_MAX - 1);
    char *server = client->server[client->server_count];
    memcpy(server, url, len);
    server[len] = '\0';
    const int error = check_server(client, source, server);
    if (error < 0)
        return error;
    while (len > 0 && server[len - 1] == '/')
        server[--len] = '\0';
    client->server_count++;
    return 0;
}

static int add_servers_of_text(pawl_client *client, const char *text)
{
    static const char source[] = "PAWL_SERVER: ";
    if (strnlen(text, SERVERS_TEXT_MAX) == SERVERS_TEXT_MAX)
        return client_wrong(client, source, "it has more than %d bytes", SERVERS_TEXT_MAX - 1);
    for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS)) {
        const size_t len = strcspn(text, BLANKS);
        const int error = add_server(client, source, text, len);
        if (error < 0)
            return error;
        text += len;
    }
    return 0;
}

/* A user who may write to the file of a socket may connect to it. */
const char *pawl_default_server(void)
{
    static const char socket[] = PAWL_SOCKET_DEFAULT;
    return faccessat(AT_FDCWD, client_socket(socket), W_OK, AT_EACCESS) == 0 ? socket
                                                                             : PAWL_SERVER_DEFAULT;
}

int client_take_servers(pawl_client *client, const struct pawl_options *options)
{
    assert(client->server_count == 0);
    for (size_t i = 0; i < options->server_count; i++) {
        const char *url = options->servers[i];
        const int error = add_server(client, "", url, strlen(url));
        if (error < 0)
            return error;
    }
    if (options->server_count > 0)
        return 0;
    const char *text = getenv("PAWL_SERVER");
    const int error = add_servers_of_text(client, text != NULL ? text : "");
    if (error < 0 || client->server_count > 0)
        return error;
    const char *usual = pawl_default_server();
    return add_server(client, "", usual, strlen(usual));
}
