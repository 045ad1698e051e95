#include "api/client/client.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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
    case PAWL_UNCHANGED:
        return "unchanged";
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
    client->is_named = false;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    (void)client_plain(sentence, strlen(sentence), client->reason, sizeof(client->reason));
}

/* ---- forks ----------------------------------------------------------------------------------- */

static int say_forked(pawl_client *client, const char *what, const char *name, pid_t pid)
{
    client_say(client,
               "%s%s belongs to process %d. This process is a fork of process %d (daemon() also "
               "forks), and holds no lock. Create a new client in this process, and acquire the "
               "lock with the new client",
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

void client_about(pawl_client *client, const char *verb, const char *name, size_t count)
{
    assert(count >= 1);
    char sentence[CLIENT_REASON_MAX];
    char more[32] = "";
    if (client->is_named)
        return;
    if (count > 1)
        (void)snprintf(more, sizeof(more), " and %zu more", count - 1);
    (void)snprintf(sentence, sizeof(sentence), "cannot %s %.*s%s: %.700s", verb, PAWL_NAME_MAX,
                   name, more, client->reason);
    (void)client_plain(sentence, strlen(sentence), client->reason, sizeof(client->reason));
    client->is_named = true;
}

int client_wrong(pawl_client *client, const char *source, const char *format, ...)
{
    char sentence[CLIENT_REASON_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    client_say(client, "%s%.900s", source, sentence);
    return PAWL_EINVAL;
}

/* ---- attempts -------------------------------------------------------------------------------- */

int64_t client_attempt_ms(const pawl_client *client)
{
    assert(client->server_count >= 1 && client->call_timeout_ms > 0);
    return client->call_timeout_ms / (int64_t)client->server_count;
}

struct client_patience client_patience(int64_t until_ms)
{
    return (struct client_patience){.until_ms = until_ms, .pause_ms = CLIENT_PAUSE_LEAST_MS};
}

bool client_pause(struct client_patience *patience)
{
    assert(patience->pause_ms >= 0 && patience->pause_ms <= CLIENT_PAUSE_MOST_MS);
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
