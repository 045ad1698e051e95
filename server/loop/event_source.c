#include "server/loop/event_source.h"

#include "api/http/problem.h"
#include "api/v1/ready.h"
#include "fence/protocol/error.h"
#include "fence/protocol/owner.h"
#include "server/system/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
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

static enum api_event_kind event_kind_of(enum server_happening what)
{
    static const enum api_event_kind kinds[] = {
        [SERVER_HAPPENED_GRANT] = API_EVENT_GRANTED,
        [SERVER_HAPPENED_FOUND] = API_EVENTS, /* nothing changed */
        [SERVER_HAPPENED_REGRANT] = API_EVENT_GRANTED,
        [SERVER_HAPPENED_UNANSWERED] = API_EVENTS, /* the lock has no holder */
        [SERVER_HAPPENED_EXTENSION] = API_EVENT_EXTENDED,
        [SERVER_HAPPENED_RELEASE] = API_EVENT_RELEASED,
        [SERVER_HAPPENED_LOSS] = API_EVENT_LOST,
        [SERVER_HAPPENED_BREAK] = API_EVENT_BROKEN,
        [SERVER_HAPPENED_REFUSAL] = API_EVENT_REFUSED,
        [SERVER_HAPPENED_WAIT] = API_EVENT_WAITING,
    };
    assert(what < sizeof(kinds) / sizeof(kinds[0]));
    return kinds[what];
}

static bool is_recording(const void *context)
{
    return server_event_ring_records(((const struct server_event_source *)context)->ring);
}

/* Returns the leases; allocates them when there is a reader. Without memory, fewer ends of leases
 * are known. */
static struct server_leases *leases_of(struct server_event_source *source)
{
    if (!source->leases)
        source->leases = calloc(1, sizeof(*source->leases));
    return source->leases;
}

static void begin_lease(struct server_event_source *source, const struct server_happened *happened)
{
    struct server_leases *leases = leases_of(source);
    const struct fence_answer *answer = happened->answer;
    const uint64_t left_ms =
        happened->what == SERVER_HAPPENED_FOUND ? answer->lease.validity_ms : answer->lease.ttl_ms;
    if (leases && happened->token > 0)
        server_leases_put(
            leases, happened->lock_id, happened->resource,
            &(struct server_lease_terms){.token = happened->token,
                                         .owner = happened->owner,
                                         .ends_us = server_clock_us() + left_ms * UINT64_C(1000)});
}

/* Returns NULL if the lease is not known. Valid until the next call about the leases. */
static const struct server_lease *end_lease(struct server_event_source *source,
                                            const struct server_happened *happened)
{
    const char *lock_id = happened->lock_id;
    if (happened->what == SERVER_HAPPENED_BREAK)
        lock_id = happened->answer->breaks.lock_id ? happened->answer->breaks.lock_id : "";
    struct server_leases *leases = leases_of(source);
    return leases && lock_id[0] != '\0' ? server_leases_take(leases, lock_id, happened->resource)
                                        : NULL;
}

/* Completes @event with the lease of the lock. */
static void note_lease(struct server_event_source *source, const struct server_happened *happened,
                       struct api_event *event)
{
    const struct server_lease *lease = NULL;
    const enum server_happening what = happened->what;
    if (what == SERVER_HAPPENED_GRANT || what == SERVER_HAPPENED_FOUND ||
        what == SERVER_HAPPENED_REGRANT)
        begin_lease(source, happened);
    else if (what == SERVER_HAPPENED_RELEASE || what == SERVER_HAPPENED_LOSS ||
             what == SERVER_HAPPENED_BREAK)
        lease = end_lease(source, happened);
    else if (what == SERVER_HAPPENED_EXTENSION) {
        begin_lease(source, happened);
        lease = source->leases
                    ? server_leases_find(source->leases, happened->lock_id, happened->resource)
                    : NULL;
    }
    if (!lease)
        return;
    event->token = event->token > 0 ? event->token : lease->token;
    event->owner = lease->owner;
}

/* Completes @event with the answer. @holder: memory for a label. */
static void note_answer(const struct fence_answer *answer, struct api_event *event,
                        char holder[static FENCE_OWNER_MAX + 1])
{
    if (answer->error)
        event->reason = api_problem_name(api_problem_of(answer->error));
    else if (event->kind == API_EVENT_GRANTED || event->kind == API_EVENT_EXTENDED)
        event->validity_ms = answer->lease.validity_ms;
    if (answer->error != FENCE_EHELD || !answer->owner)
        return;
    (void)fence_owner_split(answer->owner, holder);
    event->holder = holder;
}

static bool is_worth_telling(const struct server_happened *happened)
{
    return happened->what != SERVER_HAPPENED_BREAK ||
           (!happened->answer->error && happened->answer->breaks.released);
}

static void record_happened(void *context, const struct server_happened *happened)
{
    struct server_event_source *source = context;
    char holder[FENCE_OWNER_MAX + 1] = "";
    if (!is_recording(source) || !is_worth_telling(happened))
        return;
    struct api_event event = begin_event(source, event_kind_of(happened->what));
    event.resource = happened->resource;
    event.token = happened->token;
    event.owner = happened->owner;
    note_lease(source, happened, &event);
    if (event.kind == API_EVENTS)
        return; /* other clients learn nothing new */
    if (happened->answer)
        note_answer(happened->answer, &event, holder);
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
        return; /* the state at the start of recording is no event */
    struct api_event event = begin_event(source, API_EVENT_MASTER);
    event.master = i + 1;
    event.address = address;
    event.state = fence_master_state_name(master->state);
    if (reason != FENCE_REASON_NONE)
        event.reason = fence_reason_words(reason, &master->facts)->name;
    server_event_ring_add(source->ring, &event);
}

static void tell_each_master(struct server_event_source *source)
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

static void tell_expired(void *context, const struct server_lease *lease)
{
    const struct server_event_source *source = context;
    struct api_event event = begin_event(source, API_EVENT_EXPIRED);
    event.resource = lease->resource;
    event.token = lease->token;
    event.owner = lease->owner;
    server_event_ring_add(source->ring, &event);
}

bool server_event_source_turn(struct server_event_source *source)
{
    const bool records = is_recording(source);
    if (!records) {
        source->knows_fleet = false;
        server_event_source_fini(source);
        return false;
    }
    if (source->leases)
        server_leases_end(source->leases, server_clock_us(), tell_expired, source);
    if (source->tells_fleet) {
        tell_each_master(source);
        tell_fleet(source);
        source->knows_fleet = true;
    }
    return true;
}

void server_event_source_fini(struct server_event_source *source)
{
    free(source->leases);
    source->leases = NULL;
}
