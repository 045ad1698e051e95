#include "api/v1/service.h"

#include "api/auth/auth.h"
#include "api/http/problem_answer.h"
#include "api/json/writer.h"
#include "api/v1/metrics.h"
#include "api/v1/ready.h"
#include "api/v1/write_answer.h"
#include "fence/fleet/majority_lost_data.h"
#include "fence/fleet/misordered.h"
#include "fence/protocol/lease.h"

#include <inttypes.h>

enum {
    FLEET_BODY_MAX = 64 * 1024, /* nine masters, their addresses, reasons and failures */
};

/* Writes the facts of the current connection; null without a connection. */
static void write_facts(struct api_writer *writer, const struct fence_master *master,
                        const struct fence_audited *audited)
{
    const struct fence_facts *facts = master->connected ? &master->facts : NULL;
    const char *role = facts == NULL ? NULL : facts->replica ? "replica" : "master";
    api_write_string(writer, "role", role);
    api_write_string(writer, "server", facts != NULL ? facts->server : NULL);
    api_write_string(writer, "version", facts != NULL ? facts->version : NULL);
    if (facts != NULL)
        api_write_bool(writer, "module", facts->module);
    else
        api_write_null(writer, "module");
    api_write_string(writer, "run_id", facts != NULL ? facts->server_id : NULL);
    api_write_string(writer, "persistence", facts != NULL ? audited->persistence : NULL);
    if (facts != NULL)
        api_write_bool(writer, "durable", audited->durable);
    else
        api_write_null(writer, "durable");
}

/* Begins a finding; a measured value may follow. */
static void write_finding(struct api_writer *writer, const struct fence_words *words)
{
    api_write_object(writer, NULL);
    api_write_string(writer, "name", words->name);
    api_write_string(writer, "detail", words->text);
}

static void write_master_audit(struct api_writer *writer, const struct fence_audited *audited)
{
    api_write_array(writer, "audit");
    for (int finding = 0; finding < FENCE_FINDINGS; finding++) {
        if (!(audited->findings >> finding & 1))
            continue;
        write_finding(writer, fence_finding_words(audited, (enum fence_finding)finding));
        if (finding == FENCE_FINDING_REPLICAS)
            api_write_integer(writer, "replicas", audited->replicas);
        if (finding == FENCE_FINDING_CLOCK)
            api_write_integer(writer, "strayed_ms", audited->strayed_us / 1000);
        api_write_end(writer);
    }
    api_write_end(writer);
}

static void write_fleet_audit(struct api_writer *writer, const struct fence_audit *audit)
{
    api_write_array(writer, "audit");
    if (audit->same_host != 0) {
        write_finding(writer, fence_finding_words(NULL, FENCE_FINDING_SAME_HOST));
        api_write_array(writer, "members");
        for (unsigned i = 0; i < audit->n; i++)
            if (audit->same_host >> i & 1)
                api_write_integer(writer, NULL, i + 1);
        api_write_end(writer);
        api_write_end(writer);
    }
    api_write_end(writer);
}

static void write_master(struct api_writer *writer, const struct api_backend *backend, unsigned i,
                         const struct api_master_status *status)
{
    const struct fence_master *master = &backend->fleet->master[i];
    const struct fence_audited *audited = &backend->audit->master[i];
    enum fence_reason reason = fence_fleet_told(backend->fleet, i);
    bool reasoned = reason != FENCE_REASON_NONE;
    const struct fence_words *words = fence_reason_words(reason, &master->facts);

    api_write_object(writer, NULL);
    api_write_integer(writer, "member", i + 1);
    api_write_string(writer, "address", status->address);
    api_write_string(writer, "state", fence_master_state_name(master->state));
    api_write_integer(writer, "state_for_ms", (int64_t)(status->state_for_us / 1000));
    api_write_string(writer, "reason", reasoned ? words->name : NULL);
    api_write_string(writer, "detail", reasoned ? words->text : NULL);
    if (status->returns)
        api_write_integer(writer, "back_in_ms", (int64_t)((status->returns_in_us + 999) / 1000));
    else
        api_write_null(writer, "back_in_ms");
    api_write_string(writer, "last_failure",
                     status->last_failure[0] != '\0' ? status->last_failure : NULL);
    write_facts(writer, master, audited);
    write_master_audit(writer, audited);
    api_write_integer(writer, "in_flight", master->in_flight);
    if (status->round_trip_us > 0)
        api_write_integer(writer, "round_trip_us", (int64_t)status->round_trip_us);
    else
        api_write_null(writer, "round_trip_us");
    api_write_end(writer);
}

/* Writes the numbers of the whole process: all its workers, each at the end of its last turn. All
 * other data are as the answering worker sees them. */
static void write_numbers(struct api_writer *writer, const struct api_backend *backend)
{
    uint64_t connections = 0, calls = 0, waiting = 0, grants = 0, hedges = 0;
    for (unsigned i = 0; i < backend->workers; i++) {
        const struct api_worker_metrics *of = &backend->counters[i]->of;
        connections += api_counter_get(&of->connections);
        calls += api_counter_get(&of->calls_now);
        waiting += api_counter_get(&of->waiting);
        hedges += api_counter_get(&of->hedges);
        for (unsigned path = 0; path < API_GRANT_PATHS; path++)
            grants += api_counter_get(&of->grants[path]);
    }
    api_write_integer(writer, "workers", backend->workers);
    api_write_integer(writer, "connections", (int64_t)connections);
    api_write_integer(writer, "calls", (int64_t)calls);
    api_write_integer(writer, "waiting", (int64_t)waiting);
    api_write_integer(writer, "grants", (int64_t)grants);
    api_write_integer(writer, "hedges", (int64_t)hedges);
}

static void show_fleet(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const struct fence_fleet *fleet = backend->fleet;
    bool known = fleet->fleet_id[0] != '\0';
    struct api_master_status masters[FENCE_MASTERS_MAX];
    backend->masters(backend->context, masters);

    char body[FLEET_BODY_MAX];
    struct api_writer writer;
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    api_write_string(&writer, "version", backend->version);
    api_write_string(&writer, "fleet_id", known ? fleet->fleet_id : NULL);
    api_write_integer(&writer, "n", fleet->n);
    api_write_integer(&writer, "majority", fence_majority(fleet->n));
    api_write_integer(&writer, "active", fence_fleet_active_count(fleet));
    api_write_bool(&writer, "ready", api_is_ready(backend));
    if (known)
        api_write_integer(&writer, "ttl_max_ms", fleet->ttl_max_ms);
    else
        api_write_null(&writer, "ttl_max_ms");
    if (known)
        api_write_integer(&writer, "readers", fleet->readers);
    else
        api_write_null(&writer, "readers");
    write_numbers(&writer, backend);
    api_write_array(&writer, "masters");
    for (unsigned i = 0; i < fleet->n; i++)
        write_master(&writer, backend, i, &masters[i]);
    api_write_end(&writer);
    write_fleet_audit(&writer, backend->audit);
    api_write_end(&writer);
    api_answer_document(request, &writer);
}

static void answer_status(struct api_request *request, const char *status)
{
    char body[64];
    struct api_writer writer;
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    api_write_string(&writer, "status", status);
    api_write_end(&writer);
    api_answer_document(request, &writer);
}

/* A process that answers is alive. */
static void show_live(struct api_request *request, void *context)
{
    (void)context;
    answer_status(request, "alive");
}

#define FIND_T                                                                                     \
    "Find T, the highest token in any guarded database (SELECT max(max(highest_token, "            \
    "reader_token)) FROM pawl_guard;). If no guard has seen a token, T is 0. Then run: pawld "     \
    "init "                                                                                        \
    "--token-floor T --master ..., with one --master for each master."

/* No master knows which locks were granted. An operator who knows the guards can continue the
 * fleet. */
static void answer_lost_memory(struct api_request *request, const struct fence_fleet *fleet)
{
    unsigned blank = 0;
    for (unsigned i = 0; i < fleet->n; i++)
        blank += fleet->master[i].reason == FENCE_REASON_BLANK;
    if (fleet->master[0].facts.exclusive)
        api_problem_answer_detail(
            request, API_PROBLEM_NOT_READY, "%s",
            fence_reason_words(fence_fleet_told(fleet, 0), &fleet->master[0].facts)->text);
    else if (blank == fleet->n)
        api_problem_answer_detail(
            request, API_PROBLEM_NOT_READY,
            "None of the %u masters is marked. If this fleet is new, run pawld init --new once, "
            "with one --master for each master. If this fleet ever granted a token, its masters "
            "have lost their data. " FIND_T,
            fleet->n);
    else
        api_problem_answer_detail(
            request, API_PROBLEM_NOT_READY,
            "A majority of the %u masters lost their data, so the granted tokens are unknown. GET "
            "/v1/fleet shows these masters. pawld grants no lock until you set a token "
            "floor. " FIND_T,
            fleet->n);
}

/* The masters vote, but they are full: their locks can be read and released, but not extended. */
static void answer_full(struct api_request *request, const struct api_backend *backend)
{
    const struct fence_fleet *fleet = backend->fleet;
    api_problem_answer_detail(
        request, API_PROBLEM_NOT_READY,
        "%u of %u masters are active, and %u are needed. %u masters have reached maxmemory, and "
        "accept no new locks. Raise maxmemory (CONFIG SET maxmemory), or release locks. GET "
        "/v1/fleet names the masters.",
        fence_fleet_active_count(fleet), fleet->n, fence_majority(fleet->n),
        api_count_full(backend));
}

/* The operator has done what is needed, and only has to wait for the end. */
static void answer_initialising(struct api_request *request, const struct fence_fleet *fleet)
{
    uint32_t lease_ms = fleet->ttl_max_ms;
    for (unsigned i = 0; i < fleet->n; i++)
        if (fleet->master[i].facts.initialising && fleet->master[i].facts.ttl_max_ms > lease_ms)
            lease_ms = fleet->master[i].facts.ttl_max_ms;
    api_problem_answer_detail(
        request, API_PROBLEM_NOT_READY,
        "pawld init or pawld move is running on the masters. A move, or an init with "
        "--token-floor, waits until the old leases have ended, at most %" PRIu32
        " ms. Then the masters vote, and this pawld continues. If the command was interrupted, run "
        "the command again with the same options.",
        lease_ms);
}

static void answer_misordered(struct api_request *request, const struct api_backend *backend,
                              const struct fence_fleet *fleet)
{
    struct api_master_status masters[FENCE_MASTERS_MAX];
    const char *addresses[FENCE_MASTERS_MAX];
    char order[FENCE_ORDER_TEXT_MAX];
    backend->masters(backend->context, masters);
    for (unsigned i = 0; i < fleet->n; i++)
        addresses[i] = masters[i].address;
    fence_fleet_order_text(fleet, addresses, order);
    api_problem_answer_detail(request, API_PROBLEM_NOT_READY,
                              "The --master list is in another order than the fleet. Restart "
                              "pawld with the addresses in this order: %s.",
                              order);
}

/* The reason names masters, so a caller without a key does not get it. */
static void show_ready(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const struct fence_fleet *fleet = backend->fleet;
    if (backend->leaving)
        api_problem_answer_detail(request, API_PROBLEM_STOPPING,
                                  "This pawld is shutting down. Send calls to another pawld.");
    else if (api_is_ready(backend))
        answer_status(request, "ready");
    else if (!api_auth_is_known(request))
        api_problem_answer_detail(request, API_PROBLEM_NOT_READY,
                                  "The service cannot grant locks. To see the reason, repeat the "
                                  "call with a key, or call GET /v1/fleet with a key.");
    else if (fence_fleet_ready(fleet))
        answer_full(request, backend);
    else if (fence_fleet_initialising(fleet))
        answer_initialising(request, fleet);
    else if (fence_fleet_misordered(fleet))
        answer_misordered(request, backend, fleet);
    else if (fence_fleet_lost_memory(fleet))
        answer_lost_memory(request, fleet);
    else
        api_problem_answer_detail(request, API_PROBLEM_NOT_READY,
                                  "%u of %u masters are active, and %u are needed. GET /v1/fleet "
                                  "shows the problems of the other masters.",
                                  fence_fleet_active_count(fleet), fleet->n,
                                  fence_majority(fleet->n));
}

struct api_routes api_service_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_GET, "/v1/fleet", show_fleet, API_TAKES_NOTHING, API_RIGHT_READ, "fleet", API_CHEAP},
        {API_GET, "/livez", show_live, API_TAKES_NOTHING, API_RIGHT_NONE, "live", API_CHEAP},
        {API_GET, "/readyz", show_ready, API_TAKES_NOTHING, API_RIGHT_NONE, "ready", API_CHEAP},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
