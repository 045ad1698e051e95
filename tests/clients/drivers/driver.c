/* The driver of the client for C: ../README.md has the commands. */
#include "api/client/pawl.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

enum {
    WORDS_MAX = PAWL_NAMES_MAX + 8,
    VALUE_BYTES = 16384, /* of tokens, or of states with long labels */
    TTL_NESTED_MS = 5000,
    NS_IN_MS = 1000000,
};

static pawl_client *client;
static pawl_lock *lock;
static pawl_renewer *renewer;
static char value[VALUE_BYTES];
/* The rows of `close`, `fork`, `leave`, `interrupt` and `end`. */
static const char left_out[] =
    "pawl_client_free() closes the connections, tests/system/client/forks forks, C has no "
    "blocks, and exit() ends a program of C at once";
static char missing[] = "-";     /* a word that the line does not have */
static char wrong_options[1024]; /* why there is no client */

static void forget_lock(void)
{
    pawl_renewer_stop(renewer);
    pawl_lock_free(lock);
    renewer = NULL;
    lock = NULL;
}

static int64_t number(const char *word)
{
    return strcmp(word, "-") == 0 ? 0 : strtoll(word, NULL, 10);
}

static int64_t wait_of(const char *word)
{
    return strcmp(word, "0") == 0 ? PAWL_NO_WAIT : number(word);
}

static void say_tokens(void)
{
    for (size_t i = 0; i < pawl_lock_count(lock); i++)
        (void)snprintf(value + strlen(value), sizeof(value) - strlen(value), "%s%lld",
                       value[0] != '\0' ? " " : "", (long long)pawl_lock_token(lock, i));
}

static int make_client(char **words, size_t count)
{
    const char *servers[PAWL_SERVERS_MAX] = {NULL};
    struct pawl_options options = {.servers = servers, .call_timeout_ms = number(words[1])};
    char *rest = strcmp(words[2], "-") == 0 ? NULL : words[2];
    for (char *one; rest != NULL && (one = strsep(&rest, " ")) != NULL;)
        servers[options.server_count++] = one;
    options.key = count > 3 ? words[3] : NULL;
    forget_lock();
    pawl_client_free(client);
    client = NULL;
    const int error = pawl_options_check(&options, wrong_options, sizeof(wrong_options));
    return error < 0 ? error : pawl_client_new(&options, &client);
}

static int acquire(const struct pawl_request *request)
{
    forget_lock();
    const int error = pawl_acquire(client, request, &lock);
    if (error == 0 && (request->permits > 0 || request->mode == PAWL_READ))
        (void)snprintf(value, sizeof(value), "%d", pawl_lock_seat(lock));
    if (error == 0 && request->mode == PAWL_WRITE) /* each seat, and the gate, has the same one */
        (void)snprintf(value, sizeof(value), "%lld", (long long)pawl_lock_token(lock, 0));
    else if (error == 0)
        say_tokens();
    return error;
}

static int nested(const char *wait, const char *name)
{
    pawl_lock *again = NULL;
    struct pawl_request request = {.names = &name, .name_count = 1, .ttl_ms = TTL_NESTED_MS};
    int error = acquire(&request);
    request.wait_ms = wait_of(wait);
    if (error == 0)
        error = pawl_acquire(client, &request, &again);
    char reason[512];
    (void)snprintf(reason, sizeof(reason), "%s", pawl_client_reason(client));
    if (lock != NULL)
        (void)pawl_release(client, lock, NULL);
    pawl_lock_free(again);
    (void)snprintf(wrong_options, sizeof(wrong_options), "%s", reason);
    return error;
}

static void *cancel_later(void *ms)
{
    const struct timespec pause = {.tv_nsec = *(const int64_t *)ms * NS_IN_MS};
    (void)nanosleep(&pause, NULL);
    pawl_cancel(client);
    return NULL;
}

static int cancel(int64_t ms, const char *name)
{
    pthread_t thread;
    const struct pawl_request request = {.names = &name, .name_count = 1};
    if (pthread_create(&thread, NULL, cancel_later, &ms) != 0)
        return PAWL_ENOMEM;
    const int error = acquire(&request);
    (void)pthread_join(thread, NULL);
    return error;
}

static void say_state(bool held, int64_t token, const char *owner)
{
    const size_t len = strlen(value);
    const char *comma = len > 0 ? ", " : "";
    if (held)
        (void)snprintf(value + len, sizeof(value) - len, "%sheld %lld %s", comma, (long long)token,
                       owner);
    else
        (void)snprintf(value + len, sizeof(value) - len, "%sfree", comma);
}

static int watch(const char *wait, int64_t count, const char *name)
{
    struct pawl_state state = {.known = false};
    const int64_t until_ms = pawl_now_ms() + number(wait);
    int error = 0;
    for (int64_t i = 0; i < count && error == 0; i++) {
        int64_t left_ms = wait_of(wait);
        if (left_ms > 0)
            left_ms = until_ms > pawl_now_ms() ? until_ms - pawl_now_ms() : PAWL_NO_WAIT;
        error = pawl_watch(client, name, left_ms, &state);
        if (error == 0)
            say_state(state.held, state.token, state.owner);
    }
    return error == PAWL_UNCHANGED ? 0 : error;
}

static int counter(int64_t count, const char *name)
{
    int64_t last = 0;
    const int error = pawl_counter_next(client, name, count, &last);
    (void)snprintf(value, sizeof(value), "%lld", (long long)last);
    return error;
}

static int inspect(const char *name)
{
    char *text = NULL;
    const int error = pawl_get(client, "/v1/locks/", name, &text);
    json_t *json = error == 0 ? json_loads(text, 0, NULL) : NULL;
    const char *owner = json_string_value(json_object_get(json, "owner"));
    if (error == 0)
        say_state(json_is_true(json_object_get(json, "held")),
                  json_integer_value(json_object_get(json, "token")), owner != NULL ? owner : "");
    json_decref(json);
    free(text);
    return error;
}

static int stopped(void)
{
    int error = pawl_renewer_look(renewer);
    while (error == 0) {
        struct pollfd fd = {.fd = pawl_renewer_fd(renewer), .events = POLLIN};
        (void)poll(&fd, 1, -1);
        error = pawl_renewer_look(renewer);
    }
    const bool is_lost = error == PAWL_ELOST;
    (void)snprintf(value, sizeof(value), "%lld",
                   is_lost ? 0LL : (long long)pawl_lock_left_ms(lock));
    return 0;
}

static void ignore(int number_of_signal)
{
    (void)number_of_signal;
}

/* Without SA_RESTART: each signal interrupts a system call. */
static int handle(void)
{
    const struct sigaction action = {.sa_handler = ignore};
    return sigaction(SIGUSR1, &action, NULL) == 0 ? 0 : PAWL_ENOMEM;
}

static int count_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL)
        return PAWL_ENOMEM;
    while (readdir(tasks) != NULL)
        count++;
    (void)closedir(tasks);
    (void)snprintf(value, sizeof(value), "%d", count);
    return 0;
}

/* Commands about the lock. 1: there is no such command. */
static int run_of_lock(char **words)
{
    bool released = false;
    if (strcmp(words[0], "extend") == 0) {
        const int error = pawl_extend(client, lock, number(words[1]));
        say_tokens();
        return error;
    }
    if (strcmp(words[0], "release") == 0) {
        pawl_renewer_stop(renewer);
        renewer = NULL;
        const int error = pawl_release(client, lock, &released);
        (void)snprintf(value, sizeof(value), "%s", released ? "true" : "false");
        return error;
    }
    if (strcmp(words[0], "keep") == 0) {
        const int error = pawl_release_and_keep(client, lock, number(words[1]), &released);
        (void)snprintf(value, sizeof(value), "%s", released ? "true" : "false");
        return error;
    }
    if (strcmp(words[0], "left") == 0) {
        (void)snprintf(value, sizeof(value), "%lld", (long long)pawl_lock_left_ms(lock));
        return 0;
    }
    return strcmp(words[0], "renew") == 0     ? pawl_renewer_start(client, lock, &renewer)
           : strcmp(words[0], "stopped") == 0 ? stopped()
           : strcmp(words[0], "group") == 0   ? 0
           : strcmp(words[0], "handle") == 0  ? handle()
           : strcmp(words[0], "threads") == 0 ? count_threads()
                                              : PAWL_UNCHANGED;
}

static int run(char **words, size_t count)
{
    const char *const *names = (const char *const *)words + 4;
    if (strcmp(words[0], "client") == 0)
        return make_client(words, count);
    if (strcmp(words[0], "acquire") == 0)
        return acquire(&(struct pawl_request){
            .names = names,
            .name_count = count - 4,
            .wait_ms = wait_of(words[1]),
            .ttl_ms = number(words[2]),
            .owner = strcmp(words[3], "-") == 0 ? NULL : words[3],
        });
    if (strcmp(words[0], "seat") == 0)
        return acquire(&(struct pawl_request){
            .names = names,
            .name_count = 1,
            .wait_ms = wait_of(words[1]),
            .ttl_ms = number(words[2]),
            .permits = number(words[3]),
        });
    if (strcmp(words[0], "rwlock") == 0)
        return acquire(&(struct pawl_request){
            .names = names,
            .name_count = 1,
            .wait_ms = wait_of(words[1]),
            .ttl_ms = number(words[2]),
            .mode = strcmp(words[3], "read") == 0 ? PAWL_READ : PAWL_WRITE,
        });
    if (strcmp(words[0], "delayed") == 0)
        return acquire(&(struct pawl_request){
            .names = names - 1,
            .name_count = 1,
            .delay_ms = number(words[1]),
            .ttl_ms = number(words[2]),
        });
    if (strcmp(words[0], "nested") == 0)
        return nested(words[1], words[2]);
    if (strcmp(words[0], "cancel") == 0)
        return cancel(number(words[1]), words[2]);
    if (strcmp(words[0], "watch") == 0)
        return watch(words[1], number(words[2]), words[3]);
    if (strcmp(words[0], "counter") == 0)
        return counter(number(words[1]), words[2]);
    if (strcmp(words[0], "inspect") == 0)
        return inspect(words[1]);
    return run_of_lock(words);
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    for (ssize_t len; (len = getline(&line, &size, stdin)) > 0 || errno == EINTR;) {
        if (len <= 0) {
            clearerr(stdin); /* a signal came */
            errno = 0;
            continue;
        }
        char *words[WORDS_MAX];
        for (size_t i = 0; i < WORDS_MAX; i++)
            words[i] = missing;
        size_t count = 0;
        char *rest = line;
        line[len - 1] = '\0';
        for (char *word; count < WORDS_MAX && (word = strsep(&rest, "\t")) != NULL;)
            words[count++] = word;
        value[0] = wrong_options[0] = '\0';
        const int error = run(words, count);
        const char *reason = client != NULL ? pawl_client_reason(client) : wrong_options;
        (void)printf("%s\t%s\t%s\n",
                     error == 0                 ? "ok"
                     : error == PAWL_NEW_GRANT  ? "new-grant"
                     : error == PAWL_UNCHANGED  ? "none"
                     : error == PAWL_EEXHAUSTED ? "exhausted"
                                                : pawl_error_name(error),
                     value,
                     error == PAWL_UNCHANGED    ? left_out
                     : wrong_options[0] != '\0' ? wrong_options
                                                : reason);
        (void)fflush(stdout);
    }
    forget_lock();
    pawl_client_free(client);
    free(line);
    return 0;
}
