#include "api/client/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CALL_TIMEOUT_DEFAULT_MS = 5000,
    CALL_TIMEOUT_MOST_MS = 600000,
    SERVERS_TEXT_MAX = PAWL_SERVERS_MAX * CLIENT_URL_MAX,
};

const char *pawl_error_name(int error)
{
    switch (error) {
    case PAWL_EINVAL:
        return "invalid";
    case PAWL_ENOMEM:
        return "no-memory";
    case PAWL_EHELD:
        return "held";
    case PAWL_ELOST:
        return "lost";
    case PAWL_EUNAVAILABLE:
        return "unavailable";
    case PAWL_EREFUSED:
        return "refused";
    case PAWL_EEXHAUSTED:
        return "extensions-exhausted";
    case PAWL_EPROTOCOL:
        return "protocol";
    case PAWL_ECANCELLED:
        return "cancelled";
    case PAWL_EFORKED:
        return "forked";
    case PAWL_NEW_GRANT:
        return "new-grant";
    default:
        return error == 0 ? "done" : "unknown";
    }
}

int64_t pawl_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *pawl_client_reason(const pawl_client *client)
{
    return client->reason;
}

const char *pawl_client_problem(const pawl_client *client)
{
    return client->problem;
}

void client_say(pawl_client *client, const char *format, ...)
{
    char sentence[CLIENT_REASON_MAX];
    va_list arguments;
    client->problem[0] = '\0';
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    (void)client_plain(sentence, strlen(sentence), client->reason, sizeof(client->reason));
}

/* ---- forks ----------------------------------------------------------------------------------- */

static int say_forked(pawl_client *client, const char *what, const char *name, pid_t pid)
{
    client_say(client,
               "%s%s belongs to process %d, and this process is a fork of it (daemon() forks, and "
               "ends process %d): nothing is held here. Make a new client in this process, and "
               "acquire with it",
               what, name, (int)pid, (int)pid);
    return PAWL_EFORKED;
}

int client_check_owner(pawl_client *client)
{
    if (client_owner_is_here(&client->owner))
        return 0;
    return say_forked(client, "this client", "", client->owner.pid);
}

int client_check_lock(pawl_client *client, const pawl_lock *lock)
{
    if (!client_owner_is_here(&lock->owner))
        return say_forked(client, "the lock ", lock->names[0].name, lock->owner.pid);
    return client_check_owner(client);
}

/* ---- servers --------------------------------------------------------------------------------- */

/* The options of a client are wrong; @source begins the sentence: "", or a variable. */
static __attribute__((format(printf, 3, 4))) int say_wrong(pawl_client *client, const char *source,
                                                           const char *format, ...)
{
    char sentence[CLIENT_REASON_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    client_say(client, "%s%.400s", source, sentence);
    return PAWL_EINVAL;
}

static int add_server(pawl_client *client, const char *source, const char *url, size_t len)
{
    const int told = len < CLIENT_URL_MAX ? (int)len : CLIENT_URL_MAX - 1;
    while (len > 0 && url[len - 1] == '/')
        len--;
    const bool known_scheme =
        strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
    if (client->server_count == PAWL_SERVERS_MAX)
        return say_wrong(client, source, "there are more than %d servers", PAWL_SERVERS_MAX);
    if (memchr(url, '@', len) != NULL) /* it may be a password, which no sentence shows */
        return say_wrong(
            client, source,
            "a URL of a server has no user and no password; give a key in their place");
    if (!known_scheme || len < 8 || len >= CLIENT_URL_MAX)
        return say_wrong(client, source,
                         "'%.*s' is no URL of a server, such as " PAWL_SERVER_DEFAULT, told, url);
    memcpy(client->server[client->server_count], url, len);
    client->server[client->server_count++][len] = '\0';
    return 0;
}

static int add_servers_of_text(pawl_client *client, const char *text)
{
    static const char source[] = "PAWL_SERVER: ";
    if (strnlen(text, SERVERS_TEXT_MAX) == SERVERS_TEXT_MAX)
        return say_wrong(client, source, "it has more than %d bytes", SERVERS_TEXT_MAX - 1);
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        const size_t len = strcspn(text, " ");
        const int error = add_server(client, source, text, len);
        if (error < 0)
            return error;
        text += len;
    }
    return 0;
}

static int add_servers(pawl_client *client, const struct pawl_options *options)
{
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
    return add_server(client, "", PAWL_SERVER_DEFAULT, strlen(PAWL_SERVER_DEFAULT));
}

/* ---- certificates ---------------------------------------------------------------------------- */

static int take_file(pawl_client *client, const char *given, const char *variable,
                     char ret_path[static CLIENT_FILE_MAX])
{
    const char *path = given != NULL ? given : getenv(variable);
    if (path == NULL)
        return 0;
    if (strnlen(path, CLIENT_FILE_MAX) == CLIENT_FILE_MAX)
        return say_wrong(client, "", "the path of %s has more than %d bytes", variable,
                         CLIENT_FILE_MAX - 1);
    (void)snprintf(ret_path, CLIENT_FILE_MAX, "%s", path);
    return 0;
}

static int take_files(pawl_client *client, const struct pawl_options *options)
{
    struct client_tls *tls = &client->tls;
    int error = take_file(client, options->ca_file, "PAWL_CA_FILE", tls->ca_file);
    if (error == 0)
        error = take_file(client, options->cert, "PAWL_CERT", tls->cert);
    if (error == 0)
        error = take_file(client, options->cert_key, "PAWL_CERT_KEY", tls->cert_key);
    return error;
}

/* A byte that is no part of a word would end the header. */
static int take_key(pawl_client *client, const char *given)
{
    const char *key = given != NULL ? given : getenv("PAWL_KEY");
    if (key == NULL)
        return 0;
    const size_t len = strnlen(key, PAWL_KEY_MAX + 1);
    bool is_word = len <= PAWL_KEY_MAX;
    for (size_t i = 0; i < len; i++)
        is_word = is_word && key[i] > ' ' && key[i] <= '~';
    if (!is_word)
        return say_wrong(client,
                         given != NULL ? "" : "PAWL_KEY: ", "a key is one word of at most %d bytes",
                         PAWL_KEY_MAX);
    memcpy(client->key, key, len + 1);
    return 0;
}

/* ---- client ---------------------------------------------------------------------------------- */

/* PAWL_EINVAL: the client's reason says what is wrong. */
static int take_options(pawl_client *client, const struct pawl_options *options)
{
    static const struct pawl_options defaults = {.server_count = 0};
    if (options == NULL)
        options = &defaults;
    if (options->call_timeout_ms < 0 || options->call_timeout_ms > CALL_TIMEOUT_MOST_MS)
        return say_wrong(client, "", "call_timeout_ms is from 0 to %d", CALL_TIMEOUT_MOST_MS);
    client->call_timeout_ms =
        options->call_timeout_ms > 0 ? options->call_timeout_ms : CALL_TIMEOUT_DEFAULT_MS;
    int error = add_servers(client, options);
    if (error == 0)
        error = take_files(client, options);
    return error == 0 ? take_key(client, options->key) : error;
}

int pawl_options_check(const struct pawl_options *options, char *ret_reason, size_t size)
{
    pawl_client *client = calloc(1, sizeof(*client));
    if (client == NULL)
        return PAWL_ENOMEM;
    const int error = take_options(client, options);
    if (error < 0)
        (void)snprintf(ret_reason, size, "%s", client->reason);
    pawl_client_free(client);
    return error;
}

static void init_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

int pawl_client_new(const struct pawl_options *options, pawl_client **ret_client)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pawl_client *client = calloc(1, sizeof(*client));
    if (client == NULL)
        return PAWL_ENOMEM;
    client->owner = client_owner_here();
    atomic_init(&client->give_up_ms, INT64_MAX);
    atomic_init(&client->cancelled, false);
    int error = take_options(client, options);
    if (error < 0)
        goto out;
    (void)pthread_once(&once, init_curl);
    client->curl = curl_easy_init();
    if (client->curl == NULL)
        error = PAWL_ENOMEM;
out:
    if (error < 0)
        pawl_client_free(client);
    else
        *ret_client = client;
    return error;
}

void pawl_client_free(pawl_client *client)
{
    if (client == NULL)
        return;
    /* A thread of the parent may have been at work with the handle: a child leaves its memory. */
    if (client_owner_is_here(&client->owner))
        curl_easy_cleanup(client->curl);
    explicit_bzero(client->key, sizeof(client->key));
    free(client);
}

/* ---- attempts -------------------------------------------------------------------------------- */

int64_t client_attempt_ms(const pawl_client *client)
{
    return client->call_timeout_ms / (int64_t)client->server_count;
}

struct client_patience client_patience(int64_t until_ms)
{
    return (struct client_patience){.until_ms = until_ms, .pause_ms = CLIENT_PAUSE_LEAST_MS};
}

bool client_pause(struct client_patience *patience)
{
    const int64_t left_ms = patience->until_ms - pawl_now_ms();
    if (left_ms <= 0)
        return false;
    const int64_t pause_ms = patience->pause_ms < left_ms ? patience->pause_ms : left_ms;
    (void)nanosleep(
        &(struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000}, NULL);
    patience->pause_ms = pause_ms > 0 ? patience->pause_ms * 2 : CLIENT_PAUSE_LEAST_MS;
    if (patience->pause_ms > CLIENT_PAUSE_MOST_MS)
        patience->pause_ms = CLIENT_PAUSE_MOST_MS;
    return true;
}
