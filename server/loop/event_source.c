#include "server/loop/event_source.h"

#include "api/http/problem.h"
#include "api/v1/ready.h"
#include "fence/protocol/error.h"
#include "fence/protocol/owner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void server_event_source_name(struct server_event_source *source, unsigned port)
{
    char host[API_EVENT_SERVER_MAX - 8] = "";
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
        (void)snprintf(host, sizeof(host), "localhost");
    if (port > 0)
        (void)snprintf(source->server, sizeof(source->server), "%s:%u", host, port);
    else
        (void)snprintf(source->server, sizeof(source->server), "%s", host);
}

static struct api_event begin_event(const struct server_event_source *source,
                                    enum api_event_kind kind)
{
    struct api_event event = {.kind = kind, .server = source->server};
    (void)clock_gettime(CLOCK_REALTIME, &event.at);
    return event;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static enum api_event_kind kind_of(enum server_happening what)
{
    static const enum api_event_kind kinds[] = {
        [SERVER_HAPPENED_GRANT] = API_EVENT_GRANTED,
        [SERVER_HAPPENED_FOUND] = API_EVENTS, /* nothing changed */
        [SERVER_HAPPENED_REGRANT] = API_EVENT_GRANTED,
        [SERVER_HAPPENED_UNANSWERED] = API_EVENTS, /* nobody has it */
        [SERVER_HAPPENED_EXTENSION] = API_EVENT_EXTENDED,
        [SERVER_HAPPENED_RELEASE] = API_EVENT_RELEASED,
        [SERVER_HAPPENED_LOSS] = API_EVENT_LOST,
        [SERVER_HAPPENED_BREAK] = API_EVENT_BROKEN,
        [SERVER_HAPPENED_REFUSAL] = API_EVENT_REFUSED,
    };
    assert(what < sizeof(kinds) / sizeof(kinds[0]));
    return kinds[what];
}

static bool is_recording(const void *context)
{
    return server_event_ring_records(((const struct server_event_source *)context)->ring);
}

static void record_happened(void *context, const struct server_happened *happened)
{
    const struct server_event_source *source = context;
    const struct fence_answer *answer = happened->answer;
    char holder[FENCE_OWNER_MAX + 1] = "";
    if (!is_recording(source) || kind_of(happened->what) == API_EVENTS ||
        (happened->what == SERVER_HAPPENED_BREAK && (answer->error || !answer->released)))
        return;
    struct api_event event = begin_event(source, kind_of(happened->what));
    event.resource = happened->resource;
    event.token = happened->token;
    event.owner = happened->owner;
    if (answer->error)
        event.reason = api_problem_name(api_problem_of(answer->error));
    else if (event.kind == API_EVENT_GRANTED || event.kind == API_EVENT_EXTENDED)
        event.validity_ms = answer->validity_ms;
    if (answer->error == FENCE_EHELD && answer->owner) {
        (void)fence_owner_split(answer->owner, holder);
        event.holder = holder;
    }
    server_event_ring_add(source->ring, &event);
}

struct server_listening server_event_source_listening(struct server_event_source *source)
{
    return (struct server_listening){
        .listens = is_recording, .happened = record_happened, .context = source};
}

/* ---- the fleet ------------------------------------------------------------------------------- */

static void tell_master(struct server_event_source *source, unsigned i, const char *address)
{
    const struct fence_fleet *fleet = source->backend->fleet;
    const struct fence_master *master = &fleet->master[i];
    const enum fence_reason reason = fence_fleet_told(fleet, i);
    if (source->knows_fleet && source->told[i].state == master->state &&
        source->told[i].reason == reason)
        return;
    source->told[i].state = master->state;
    source->told[i].reason = reason;
    if (!source->knows_fleet)
        return; /* how it was when somebody began to read is no event */
    struct api_event event = begin_event(source, API_EVENT_MASTER);
    event.master = i + 1;
    event.address = address;
    event.state = fence_master_state_name(master->state);
    if (reason != FENCE_REASON_NONE)
        event.reason = fence_reason_words(reason, &master->facts)->name;
    server_event_ring_add(source->ring, &event);
}

static void tell_masters(struct server_event_source *source)
{
    const struct api_backend *backend = source->backend;
    struct api_master_status masters[FENCE_MASTERS_MAX];
    backend->masters(backend->context, masters);
    for (unsigned i = 0; i < backend->fleet->n; i++)
        tell_master(source, i, masters[i].address);
}

static void tell_fleet(struct server_event_source *source)
{
    const bool ready = api_is_ready(source->backend);
    if (source->knows_fleet && ready == source->ready)
        return;
    source->ready = ready;
    if (!source->knows_fleet)
        return;
    struct api_event event = begin_event(source, API_EVENT_FLEET);
    event.state = api_ready_word(ready);
    server_event_ring_add(source->ring, &event);
}

void server_event_source_turn(struct server_event_source *source)
{
    if (!source->tells_fleet)
        return;
    if (is_recording(source)) {
        tell_masters(source);
        tell_fleet(source);
    }
    source->knows_fleet = is_recording(source);
}
