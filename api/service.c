#include "api/service.h"

#include "api/problem.h"
#include "api/writer.h"
#include "fence/lease.h"

enum {
    FLEET_BODY_MAX = 64 * 1024, /* nine masters, their addresses, reasons and failures */
};

static void answer_json(struct api_request *request, const struct api_writer *writer)
{
    const struct api_answer answer = {.status = 200, .body = writer->buffer, .len = writer->len};
    api_request_answer(request, &answer);
}

/* What the last handshake found; null where no connection stands. */
static void write_facts(struct api_writer *writer, const struct fence_master *master)
{
    const struct fence_facts *facts = master->connected ? &master->facts : NULL;
    const char *role = facts == NULL ? NULL : facts->replica ? "replica" : "master";
    api_write_string(writer, "role", role);
    api_write_string(writer, "run_id", facts != NULL ? facts->run_id : NULL);
    api_write_string(writer, "persistence", facts != NULL ? facts->persistence : NULL);
    if (facts != NULL)
        api_write_bool(writer, "durable", facts->durable);
    else
        api_write_null(writer, "durable");
}

static void write_master(struct api_writer *writer, const struct api_backend *backend, unsigned i)
{
    const struct fence_master *master = &backend->fleet(backend->context)->master[i];
    const char *failure = backend->master_detail(backend->context, i);
    uint64_t round_trip_us = backend->master_round_trip_us(backend->context, i);
    bool reasoned = master->reason != FENCE_REASON_NONE;

    api_write_object(writer, NULL);
    api_write_integer(writer, "member", i + 1);
    api_write_string(writer, "address", backend->master_address(backend->context, i));
    api_write_string(writer, "state", fence_master_state_name(master->state));
    api_write_string(writer, "reason", reasoned ? fence_reason_name(master->reason) : NULL);
    api_write_string(writer, "detail", reasoned ? fence_reason_text(master->reason) : NULL);
    api_write_string(writer, "last_failure", failure[0] != '\0' ? failure : NULL);
    write_facts(writer, master);
    api_write_integer(writer, "in_flight", master->in_flight);
    if (round_trip_us > 0)
        api_write_integer(writer, "round_trip_us", (int64_t)round_trip_us);
    else
        api_write_null(writer, "round_trip_us");
    api_write_end(writer);
}

static void show_fleet(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const struct fence_fleet *fleet = backend->fleet(backend->context);
    bool known = fleet->fleet_id[0] != '\0';

    char body[FLEET_BODY_MAX];
    struct api_writer writer;
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    api_write_string(&writer, "fleet_id", known ? fleet->fleet_id : NULL);
    api_write_integer(&writer, "n", fleet->n);
    api_write_integer(&writer, "majority", fence_majority(fleet->n));
    api_write_integer(&writer, "active", fence_fleet_active_count(fleet));
    api_write_bool(&writer, "ready", fence_fleet_ready(fleet));
    if (known)
        api_write_integer(&writer, "ttl_max_ms", fleet->ttl_max_ms);
    else
        api_write_null(&writer, "ttl_max_ms");
    api_write_array(&writer, "masters");
    for (unsigned i = 0; i < fleet->n; i++)
        write_master(&writer, backend, i);
    api_write_end(&writer);
    api_write_end(&writer);
    answer_json(request, &writer);
}

static void answer_status(struct api_request *request, const char *status)
{
    char body[64];
    struct api_writer writer;
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    api_write_string(&writer, "status", status);
    api_write_end(&writer);
    answer_json(request, &writer);
}

/* Alive is whoever answers. */
static void show_live(struct api_request *request, void *context)
{
    (void)context;
    answer_status(request, "alive");
}

static void show_ready(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const struct fence_fleet *fleet = backend->fleet(backend->context);
    if (fence_fleet_ready(fleet)) {
        answer_status(request, "ready");
        return;
    }
    api_problem_answer_detail(
        request, API_PROBLEM_NOT_READY,
        "%u of %u masters are active and %u are needed; see /v1/fleet for what "
        "each of the others lacks.",
        fence_fleet_active_count(fleet), fleet->n, fence_majority(fleet->n));
}

struct api_routes api_service_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_GET, "/v1/fleet", show_fleet, false},
        {API_GET, "/livez", show_live, false},
        {API_GET, "/readyz", show_ready, false},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
