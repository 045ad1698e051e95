/* Does one thing with the client for C, as all clients in alike.json do, and prints what came of
 * it: the kind, the sentence and a number, NUL behind each. The servers are those of the
 * environment. usage: CALL NAME WAIT_MS ("-": the default) | watch NAME STATES
 */
#include "api/client/pawl.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TTL_MS = 1500,
    CALL_TIMEOUT_MS = 3000,
    CALL_TIMEOUT_LOST_MS = 5000, /* the default, which a release is not to wait for */
};

static void acquire(pawl_client *client, const char *call, const char *name, const char *wait)
{
    pawl_lock *lock = NULL;
    pawl_lock *again = NULL;
    struct pawl_request request = {.names = &name, .name_count = 1};
    if (strcmp(wait, "-") != 0)
        request.wait_ms = strcmp(wait, "0") == 0 ? PAWL_NO_WAIT : strtoll(wait, NULL, 10);
    int error = pawl_acquire(client, &request, &lock);
    if (error == 0 && strcmp(call, "nested") == 0)
        error = pawl_acquire(client, &request, &again);
    char reason[512];
    (void)snprintf(reason, sizeof(reason), "%s", pawl_client_reason(client));
    if (lock != NULL)
        (void)pawl_release(client, lock, NULL);
    pawl_lock_free(again);
    pawl_lock_free(lock);
    (void)printf("%s%c%s%c0%c", error == 0 ? "granted" : pawl_error_name(error), '\0', reason, '\0',
                 '\0');
}

/* Holds a lock until it is lost. The number is how long after its deadline all was over. */
static void lose(pawl_client *client, const char *name)
{
    pawl_lock *lock = NULL;
    pawl_renewer *renewer = NULL;
    const struct pawl_request request = {.names = &name, .name_count = 1, .ttl_ms = TTL_MS};
    int error = pawl_acquire(client, &request, &lock);
    if (error == 0)
        error = pawl_renewer_start(client, lock, &renewer);
    if (error < 0) {
        (void)fprintf(stderr, "%s\n", pawl_client_reason(client));
        return;
    }
    (void)puts("holding");
    (void)fflush(stdout);
    while (error == 0) {
        struct pollfd fd = {.fd = pawl_renewer_fd(renewer), .events = POLLIN};
        (void)poll(&fd, 1, -1);
        error = pawl_renewer_look(renewer);
    }
    const int64_t deadline_ms = pawl_lock_deadline_ms(lock);
    const int64_t told_ms = pawl_now_ms();
    pawl_renewer_stop(renewer);
    (void)pawl_release(client, lock, NULL);
    (void)printf("%s%c%s%c%lld%c", told_ms < deadline_ms + TTL_MS / 5 ? "lost" : "told late", '\0',
                 pawl_client_reason(client), '\0', (long long)(pawl_now_ms() - deadline_ms), '\0');
    pawl_lock_free(lock);
}

/* The first @count states of a lock, in a sentence. */
static void watch(pawl_client *client, const char *name, long count)
{
    struct pawl_state state = {.known = false};
    char seen[512] = "";
    int error = 0;
    for (long i = 0; i < count && error == 0; i++) {
        const size_t len = strlen(seen);
        error = pawl_watch(client, name, PAWL_WAIT, &state);
        if (error == 0 && state.held)
            (void)snprintf(seen + len, sizeof(seen) - len, "held under %lld by %s. ",
                           (long long)state.token, state.owner);
        else if (error == 0)
            (void)snprintf(seen + len, sizeof(seen) - len, "free. ");
    }
    (void)printf("%s%c%s%c0%c", error == 0 ? "granted" : pawl_error_name(error), '\0',
                 error == 0 ? seen : pawl_client_reason(client), '\0', '\0');
}

int main(int argc, char **argv)
{
    pawl_client *client = NULL;
    if (argc != 4)
        return 1;
    const bool loses = strcmp(argv[1], "lose") == 0;
    const struct pawl_options options = {.call_timeout_ms =
                                             loses ? CALL_TIMEOUT_LOST_MS : CALL_TIMEOUT_MS};
    if (pawl_client_new(&options, &client) < 0)
        return 1;
    if (loses)
        lose(client, argv[2]);
    else if (strcmp(argv[1], "watch") == 0)
        watch(client, argv[2], strtol(argv[3], NULL, 10));
    else
        acquire(client, argv[1], argv[2], argv[3]);
    pawl_client_free(client);
    return 0;
}
