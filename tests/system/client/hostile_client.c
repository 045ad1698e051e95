/* Asks for the lock of each case of hostile.json, with the client for C, and prints what came of
 * it: the name of the case, the kind, and the sentence; NUL behind each.
 * usage: URL {acquire|extend|watch NAME}... */
#include "api/client/pawl.h"

#include <stdio.h>
#include <string.h>

enum {
    TTL_MS = 5000,
    CALL_TIMEOUT_MS = 1500,
};

static void print_case(const char *name, const char *kind, const char *sentence)
{
    (void)printf("%s%c%s%c%s%c", name, '\0', kind, '\0', sentence, '\0');
}

static void watch_case(pawl_client *client, const char *name)
{
    struct pawl_state state = {.known = false};
    const int error = pawl_watch(client, name, PAWL_NO_WAIT, &state);
    print_case(name, error == 0 ? "granted" : pawl_error_name(error),
               error == 0 ? state.owner : pawl_client_reason(client));
}

static void acquire_case(pawl_client *client, const char *call, const char *name)
{
    pawl_lock *lock = NULL;
    const struct pawl_request request = {
        .names = &name, .name_count = 1, .ttl_ms = TTL_MS, .wait_ms = PAWL_NO_WAIT};
    int error = pawl_acquire(client, &request, &lock);
    if (error == 0 && strcmp(call, "extend") == 0)
        error = pawl_extend(client, lock, TTL_MS);
    print_case(name, error == 0 ? "granted" : pawl_error_name(error), pawl_client_reason(client));
    pawl_lock_free(lock);
}

static void run_case(const char *url, const char *call, const char *name)
{
    pawl_client *client = NULL;
    const struct pawl_options options = {
        .servers = &url, .server_count = 1, .call_timeout_ms = CALL_TIMEOUT_MS};
    if (pawl_client_new(&options, &client) < 0)
        return;
    if (strcmp(call, "watch") == 0)
        watch_case(client, name);
    else
        acquire_case(client, call, name);
    pawl_client_free(client);
}

int main(int argc, char **argv)
{
    for (int i = 2; i + 1 < argc; i += 2)
        run_case(argv[1], argv[i], argv[i + 1]);
    return 0;
}
