#include "server/cli/problem.h"

#include "server/cli/duration.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

static const char type_prefix[] = "urn:pawl:";

struct failure {
    const char *key_source; /* as in problem.h */
    const json_t *problem;  /* NULL: no server told one */
};

static const char *member_text(const json_t *problem, const char *member)
{
    const char *text = json_string_value(json_object_get(problem, member));
    return text != NULL ? text : "";
}

/* ---- problems that say more than their type -------------------------------------------------- */

static bool tell_key(const struct failure *failure, char *ret_reason)
{
    assert(failure->problem != NULL);
    if (failure->key_source == NULL)
        (void)snprintf(ret_reason, CLI_REASON_MAX,
                       "the server asks for a key: name its file with --key-file, or set PAWL_KEY");
    else
        (void)snprintf(ret_reason, CLI_REASON_MAX,
                       "the server does not know the key %s. If the key was rotated, ask the "
                       "operator for the new key",
                       failure->key_source);
    return true;
}

/* The prefix that was asked for is a member; a listing of all names has an empty one. */
static bool tell_prefix(const struct failure *failure, char *ret_reason)
{
    const char *prefix = json_string_value(json_object_get(failure->problem, "prefix"));
    if (prefix == NULL || prefix[0] != '\0')
        return false;
    (void)snprintf(ret_reason, CLI_REASON_MAX,
                   "the key %s does not cover all names: use pawl list PREFIX or pawl counter list "
                   "PREFIX with a prefix of the key",
                   member_text(failure->problem, "key"));
    return true;
}

/* Only the lease has this member. */
static bool tell_lease(const struct failure *failure, char *ret_reason)
{
    const json_t *longest = json_object_get(failure->problem, "ttl_max_ms");
    if (!json_is_integer(longest))
        return false;
    char most[CLI_DURATION_BYTES];
    cli_duration_text(json_integer_value(longest), most, sizeof(most));
    (void)snprintf(ret_reason, CLI_REASON_MAX,
                   "the lease is longer than the fleet allows: use --ttl %s or less", most);
    return true;
}

/* A listing has no one name. */
static bool is_refused_listing(const json_t *problem)
{
    const json_t *masters = json_object_get(problem, "masters");
    bool refused = false;
    for (size_t i = 0; i < json_array_size(masters); i++) {
        const char *part = json_string_value(json_array_get(masters, i));
        refused = refused || (part != NULL && strcmp(part, "refused") == 0);
    }
    return refused && json_object_get(problem, "resource") == NULL;
}

/* If a master refused a listing, the server says which permission it lacks there. */
static bool tell_masters(const struct failure *failure, char *ret_reason)
{
    if (is_refused_listing(failure->problem))
        return false;
    (void)snprintf(
        ret_reason, CLI_REASON_MAX,
        "too few masters answered or could vote: retry later. pawl fleet shows the problems of the "
        "masters");
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct known {
    const char *type;
    const char *sentence; /* NULL: @tell writes it */
    bool (*tell)(const struct failure *failure, char *ret_reason);
} known[] = {
    {"key-required", NULL, tell_key},
    {"not-allowed", NULL, tell_prefix},
    {"rate-limited", "the key has used up its rate of calls: retry later", NULL},
    {"invalid", NULL, tell_lease},
    {"no-quorum", NULL, tell_masters},
    {"not-ready", "the server has no majority of its masters: pawl fleet shows the reason", NULL},
    {"too-slow", "the lease ended before the masters had answered: retry, or use a longer --ttl",
     NULL},
    {"busy", "the server has reached its limit of calls: retry later", NULL},
    {"too-many-waiters", "the queue of waiters is full: retry later, or use --nonblock", NULL},
    {"lock-lost",
     "the lock is no longer held under this lock id and token: stop the work, and acquire the lock "
     "again",
     NULL},
    {"token-mismatch",
     "another grant has the lock now, and nothing was changed: check with pawl show", NULL},
    {"no-such-counter",
     "this counter does not exist: check its spelling, or start it with pawl counter next", NULL},
    {"cross-site",
     "the server does not accept the name in --server: use its IP address, or start pawld with "
     "--host and this name. A proxy must not change the header Host",
     NULL},
    {"not-found", "the server does not know this path: is --server the address of a pawld?", NULL},
};

/* False: the server's words are all there is. */
static bool tell_known(const struct failure *failure, char *ret_reason)
{
    const char *type = member_text(failure->problem, "type");
    if (strncmp(type, type_prefix, strlen(type_prefix)) != 0)
        return false;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(type + strlen(type_prefix), known[i].type) != 0)
            continue;
        assert((known[i].sentence == NULL) == (known[i].tell != NULL));
        if (known[i].sentence == NULL)
            return known[i].tell(failure, ret_reason);
        (void)snprintf(ret_reason, CLI_REASON_MAX, "%s", known[i].sentence);
        return true;
    }
    return false;
}

void cli_problem_reason(const pawl_client *client, const char *key_source,
                        char ret_reason[static CLI_REASON_MAX])
{
    json_t *problem = json_loads(pawl_client_problem(client), 0, NULL);
    const struct failure failure = {.key_source = key_source, .problem = problem};
    if (!tell_known(&failure, ret_reason))
        (void)snprintf(ret_reason, CLI_REASON_MAX, "%s", pawl_client_reason(client));
    json_decref(problem);
}
