#include "api/v1/listing.h"

#include "api/auth/auth.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/v1/write_answer.h"
#include "fence/protocol/owner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* The most bytes of a lock, and so of a counter, as JSON, with the names of its members and
     * four numbers. A control character in an owner becomes six bytes; only another program could
     * have written one. */
    LOCK_BODY_MAX = FENCE_RESOURCE_MAX + 6 * FENCE_OWNER_MAX + FENCE_KEY_ID_MAX + 224,
    PAGE_BODY_MAX = 64 + 2 * API_CURSOR_MAX, /* all but the locks */
};

/* The differences between the listings. */
static const struct {
    const char *what;    /* the word for a listed name */
    const char *member;  /* the member of a page with the entries */
    const char *refused; /* the detail if a master refused to be read */
} kinds[] = {
    [FENCE_LISTING_LOCKS] =
        {"resource", "locks",
         "A master refused the read, or another program wrote a key with the prefix 'pawl:lock:' "
         "on a master. The field 'masters' shows which master. The access control list of the "
         "master "
         "must allow SCAN and MGET."},
    [FENCE_LISTING_COUNTERS] =
        {"counter", "counters",
         "A master refused the read, or another program wrote a field "
         "with the prefix 'n:' in the key 'pawl:fleet'. The field 'masters' shows which "
         "master. The access control list of the master must allow HSCAN "
         "and HMGET."},
};

/* ---- asking ---------------------------------------------------------------------------------- */

static void list(struct api_request *request, const struct api_backend *backend,
                 enum fence_listing_kind kind)
{
    assert(kind == FENCE_LISTING_LOCKS || kind == FENCE_LISTING_COUNTERS);
    char prefix[FENCE_RESOURCE_MAX + 1] = "";
    char cursor[API_CURSOR_MAX + 1] = "";
    int64_t limit = API_LISTING_LIMIT_DEFAULT;
    const struct api_query_param params[] = {
        {"prefix", API_QUERY_TEXT, 0, FENCE_RESOURCE_MAX, NULL, prefix},
        {"limit", API_QUERY_INTEGER, 1, API_LISTING_LIMIT_MAX, &limit, NULL},
        {"cursor", API_QUERY_TEXT, 1, API_CURSOR_MAX, NULL, cursor},
    };
    if (api_input_query(request, params, sizeof(params) / sizeof(params[0])) != 0)
        return;
    if (!api_key_prefix_valid(prefix)) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "No %s can begin with this prefix: use only A-Z a-z 0-9 . _ ~ : "
                                  "@ / - and no empty, \".\" or \"..\" segment.",
                                  kinds[kind].what);
        return;
    }
    if (api_auth_require(request, API_RIGHT_READ, prefix) != 0)
        return;
    assert(limit >= 1 && limit <= API_LISTING_LIMIT_MAX);
    const struct fence_listing_call call = {
        .kind = kind,
        .client = api_request_client(request),
        .prefix = prefix,
        .cursor = cursor,
        .limit = (unsigned)limit,
    };
    backend->list(backend->context, &call);
}

static void list_locks(struct api_request *request, void *context)
{
    list(request, context, FENCE_LISTING_LOCKS);
}

static void list_counters(struct api_request *request, void *context)
{
    list(request, context, FENCE_LISTING_COUNTERS);
}

struct api_routes api_listing_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_GET, "/v1/locks", list_locks, API_TAKES_QUERY, API_RIGHT_READ, "list", API_COSTLIEST},
        {API_GET, "/v1/counters", list_counters, API_TAKES_QUERY, API_RIGHT_READ, "list_counters",
         API_COSTLIEST},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}

/* ---- answering ------------------------------------------------------------------------------- */

static void write_lock(struct api_writer *writer, struct api_request *request,
                       const struct fence_listed *lock)
{
    char label[FENCE_OWNER_MAX + 1];
    const char *key_id = fence_owner_split(lock->owner, label);
    api_write_object(writer, NULL);
    api_write_string(writer, "resource", lock->resource);
    if (lock->token > 0)
        api_write_integer(writer, "token", lock->token);
    else
        api_write_null(writer, "token");
    if (fence_owner_writes(lock->owner))
        api_write_string(writer, "mode", "write");
    api_write_string(writer, "owner", label);
    if (key_id[0] != '\0' && api_auth_sees_key(request, key_id))
        api_write_string(writer, "key", key_id);
    api_write_remaining(writer, lock->owner, lock->kept, lock->remaining_ms);
    api_write_integer(writer, "waiters", lock->waiters);
    api_write_end(writer);
}

static void write_counter(struct api_writer *writer, const struct fence_listed *counter)
{
    api_write_object(writer, NULL);
    api_write_string(writer, "name", counter->resource);
    if (counter->token > 0)
        api_write_integer(writer, "value", counter->token);
    else
        api_write_null(writer, "value");
    api_write_end(writer);
}

static void write_listed(struct api_writer *writer, struct api_request *request,
                         const struct fence_listing_answer *listing)
{
    api_write_array(writer, kinds[listing->kind].member);
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->kind == FENCE_LISTING_COUNTERS)
            write_counter(writer, &listing->locks[i]);
        else
            write_lock(writer, request, &listing->locks[i]);
    }
    api_write_end(writer);
}

static void answer_page(struct api_request *request, const struct fence_listing_answer *listing)
{
    assert(listing->error == 0);
    assert(listing->count <= API_LISTING_LIMIT_MAX);
    size_t size = PAGE_BODY_MAX + listing->count * LOCK_BODY_MAX;
    char *body = api_body_new(request, size);
    if (body == NULL)
        return;
    struct api_writer writer;
    api_writer_init(&writer, body, size);
    api_write_object(&writer, NULL);
    write_listed(&writer, request, listing);
    api_write_string(&writer, "next_cursor", listing->next_cursor);
    api_write_end(&writer);
    api_answer_document(request, &writer);
    free(body);
}

static const char *no_quorum_detail(const struct fence_listing_answer *listing)
{
    for (unsigned i = 0; i < listing->total; i++)
        if (listing->parts[i] == FENCE_PART_REFUSED)
            return kinds[listing->kind].refused;
    return "Too few masters answered. The field 'masters' shows how each master answered. Retry "
           "later, or restart the listing without a cursor.";
}

/* With one word for each master, in the order of the fleet. */
static void answer_no_quorum(struct api_request *request,
                             const struct fence_listing_answer *listing)
{
    assert(listing->total >= 1 && listing->total <= FENCE_MASTERS_MAX);
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_NO_QUORUM, no_quorum_detail(listing));
    api_write_parts(&writer, listing->parts, listing->total);
    api_problem_end(&writer, request, API_PROBLEM_NO_QUORUM, -1);
}

void api_listing_answer(const struct fence_listing_answer *listing)
{
    struct api_request *request = api_request_of_client(listing->client);
    if (listing->error == 0)
        answer_page(request, listing);
    else if (listing->error == FENCE_ENOQUORUM)
        answer_no_quorum(request, listing);
    else if (listing->error == FENCE_EINVAL)
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "The cursor belongs to another prefix, or a master has "
                                  "restarted. Restart the listing without a cursor.");
    else
        api_problem_answer(request, api_problem_of(listing->error));
}
