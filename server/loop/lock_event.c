#include "server/loop/lock_event.h"

#include "fence/protocol/error.h"
#include "fence/protocol/owner.h"

#include <stdio.h>
#include <string.h>

static bool anybody_listens(const struct server_happened_listeners *listeners)
{
    bool listens = false;
    for (unsigned i = 0; i < SERVER_HAPPENED_LISTENERS; i++)
        listens |= listeners->each[i].listens(listeners->each[i].context);
    return listens;
}

static void tell(const struct server_happened_listeners *listeners,
                 const struct server_happened *happened)
{
    for (unsigned i = 0; i < SERVER_HAPPENED_LISTENERS; i++)
        listeners->each[i].happened(listeners->each[i].context, happened);
}

void server_happened_call(const struct server_happened_listeners *listeners,
                          const struct fence_call *call)
{
    char label[FENCE_OWNER_MAX + 1];
    if (call->origin != FENCE_ORIGIN_CLIENT || call->kind != FENCE_CALL_ACQUIRE ||
        !anybody_listens(listeners))
        return;
    (void)fence_owner_split(call->owner, label);
    if (label[0] != '\0')
        api_request_keep(api_request_of_client(call->client), label);
}

static void tell_grant(const struct server_happened_listeners *listeners,
                       struct server_happened *happened, bool left)
{
    const struct fence_answer *answer = happened->answer;
    if (left && answer->acquire.found)
        return; /* there is no new token */
    happened->what = left                    ? SERVER_HAPPENED_UNANSWERED
                     : answer->acquire.found ? SERVER_HAPPENED_FOUND
                                             : SERVER_HAPPENED_GRANT;
    happened->owner = api_request_kept(happened->request);
    happened->token = answer->token;
    const bool several = answer->acquire.group &&
                         answer->mode == FENCE_MODE_PLAIN; /* the group of a writer is one lock */
    if (!several)
        tell(listeners, happened);
    for (unsigned k = 0; several && k < answer->acquire.group->count; k++) {
        happened->resource = answer->acquire.group->locks[k].resource;
        happened->token = answer->acquire.group->locks[k].token;
        tell(listeners, happened);
    }
}

/* Reports a refusal. A client that left was refused nothing. */
static void tell_refusal(const struct server_happened_listeners *listeners,
                         struct server_happened *happened, bool left)
{
    if (left || happened->answer->error == FENCE_ELEFT)
        return;
    happened->what = SERVER_HAPPENED_REFUSAL;
    happened->owner = api_request_kept(happened->request);
    tell(listeners, happened);
}

static void tell_regrant(const struct server_happened_listeners *listeners,
                         const struct server_happened *extension, bool left)
{
    char label[FENCE_OWNER_MAX + 1] = "";
    struct server_happened happened = *extension;
    (void)fence_owner_split(extension->answer->owner, label);
    happened.what = left ? SERVER_HAPPENED_UNANSWERED : SERVER_HAPPENED_REGRANT;
    happened.owner = label;
    tell(listeners, &happened);
}

static void tell_extension(const struct server_happened_listeners *listeners,
                           struct server_happened *happened, bool left)
{
    const struct fence_answer *answer = happened->answer;
    happened->token = answer->token;
    if (!answer->error && answer->extend.anew) {
        tell_regrant(listeners, happened, left);
    } else if (!answer->error) {
        happened->what = SERVER_HAPPENED_EXTENSION;
        tell(listeners, happened);
    } else if (!left && (answer->error == FENCE_ELOCKLOST || answer->error == FENCE_EBROKEN)) {
        happened->what = SERVER_HAPPENED_LOSS;
        tell(listeners, happened);
    }
}

static void tell_break(const struct server_happened_listeners *listeners,
                       struct server_happened *happened)
{
    happened->what = SERVER_HAPPENED_BREAK;
    happened->token = happened->answer->error == FENCE_EMISMATCH ? 0 : happened->answer->token;
    tell(listeners, happened);
}

bool server_happened_stands(const struct api_request *request, const char *resource)
{
    return !request || !api_request_is_part(request) ||
           strcmp(resource + strcspn(resource, "#"), "#0") == 0;
}

/* Names the event of a writer after its lock. Returns false for another part of the writer's
 * call. */
static bool stands_for_writer(struct server_happened *happened,
                              char name[static FENCE_RESOURCE_MAX + 1])
{
    if (!server_happened_stands(happened->request, happened->resource))
        return false;
    if (!happened->request || !api_request_is_part(happened->request))
        return true;
    const size_t len = strcspn(happened->resource, "#");
    (void)snprintf(name, FENCE_RESOURCE_MAX + 1, "%.*s", (int)len, happened->resource);
    happened->resource = name;
    return true;
}

void server_happened_answer(const struct server_happened_listeners *listeners,
                            const struct fence_answer *answer, bool left)
{
    struct server_happened happened = {
        .request = api_request_of_client(answer->client),
        .resource = answer->resource,
        .lock_id = answer->lock_id,
        .owner = "",
        .answer = answer,
    };
    char name[FENCE_RESOURCE_MAX + 1];
    if (!anybody_listens(listeners) || !stands_for_writer(&happened, name))
        return;
    if (answer->kind == FENCE_CALL_ACQUIRE && answer->error)
        tell_refusal(listeners, &happened, left);
    else if (answer->kind == FENCE_CALL_ACQUIRE)
        tell_grant(listeners, &happened, left);
    else if (answer->kind == FENCE_CALL_EXTEND)
        tell_extension(listeners, &happened, left);
    else if (answer->kind == FENCE_CALL_RELEASE && !answer->error && answer->release.released) {
        happened.what = SERVER_HAPPENED_RELEASE;
        tell(listeners, &happened);
    } else if (answer->kind == FENCE_CALL_BREAK && answer->breaks.sent != 0)
        tell_break(listeners, &happened);
}

void server_happened_waits(const struct server_happened_listeners *listeners, uint64_t client,
                           const char *resource)
{
    const struct api_request *request = api_request_of_client(client);
    const struct server_happened happened = {
        .what = SERVER_HAPPENED_WAIT,
        .request = request,
        .resource = resource,
        .lock_id = "",
        .owner = api_request_kept(request),
    };
    tell(listeners, &happened);
}
