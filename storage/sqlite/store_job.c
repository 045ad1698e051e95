#include "storage/sqlite/store_job.h"

#include "fence/master/lock.h"
#include "fence/protocol/name.h"
#include "storage/sqlite/facts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- its life -------------------------------------------------------------------------------- */

struct storage_job *storage_job_new(struct storage_sqlite_master *master,
                                    enum storage_job_kind kind)
{
    struct storage_job *job = calloc(1, sizeof(*job));
    if (job) {
        job->master = master;
        job->kind = kind;
    }
    return job;
}

struct storage_job *storage_job_new_requests(struct storage_sqlite_master *master)
{
    struct storage_job *job = storage_job_new(master, STORAGE_JOB_REQUESTS);
    if (!job)
        return NULL;
    job->room = FENCE_IN_FLIGHT_MAX;
    job->entries = calloc(job->room, sizeof(job->entries[0])); /* the kernel allocates only the
                                                                * pages in use */
    if (job->entries)
        return job;
    free(job);
    return NULL;
}

void storage_job_empty(struct storage_job *job)
{
    assert(job->kind == STORAGE_JOB_REQUESTS || job->count == 0);
    for (unsigned i = 0; i < job->count; i++) {
        free(job->entries[i].group);
        job->entries[i].group = NULL;
    }
    job->count = 0;
    job->failed = false;
    job->refusal = FENCE_REFUSAL_NONE;
}

void storage_job_free(struct storage_job *job)
{
    if (!job)
        return;
    storage_job_empty(job);
    free(job->entries);
    if (job->kind == STORAGE_JOB_REJOIN && job->request.step == FENCE_REJOIN_READ)
        sqlite3_free(job->page);
    else
        free(job->page);
    free(job->names);
    free(job->list);
    free(job->holders);
    free(job);
}

/* ---- requests -------------------------------------------------------------------------------- */

void storage_job_add(struct storage_job *job, const struct fence_request *request)
{
    assert(job->count < job->room);
    assert(job->kind == STORAGE_JOB_REQUESTS);
    struct storage_entry *entry = &job->entries[job->count++];
    entry->request = *request;
    entry->group = NULL;
    entry->locks = fence_request_locks(request);
    entry->unmade = false;
    fence_stored_copy(entry->resource, sizeof(entry->resource), request->resource);
    fence_stored_copy(entry->lock_id, sizeof(entry->lock_id), request->lock_id);
    fence_stored_copy(entry->owner, sizeof(entry->owner), request->owner ? request->owner : "");
    if (!request->group)
        return;
    entry->group = malloc(sizeof(*entry->group));
    entry->unmade = !entry->group;
    if (entry->group)
        entry->group->group = *request->group;
}

/* The turn in a reply now belongs to the job. */
static void do_entry(struct storage_job *job, struct storage_entry *entry,
                     struct storage_state *state)
{
    struct fence_request *request = &entry->request;
    request->resource = entry->resource;
    request->lock_id = entry->lock_id;
    request->owner = entry->owner;
    request->group = entry->group ? &entry->group->group : NULL;
    entry->answer.numbers = entry->group ? entry->group->numbers : NULL;
    enum fence_refusal refusal = job->refusal;
    if (entry->unmade && refusal == FENCE_REFUSAL_NONE)
        refusal = FENCE_REFUSAL_GONE;
    fence_master_do(&state->turn, refusal, request, &entry->answer);
    entry->answer.reply.locks = entry->locks;
    if (entry->answer.reply.view)
        entry->answer.reply.view = &job->view;
}

static void do_requests(struct storage_job *job, struct storage_state *state)
{
    assert(job->count > 0 && job->count <= job->room);
    job->refusal = fence_master_check(&state->turn, job->fleet_id, &job->view);
    if (job->refusal == FENCE_REFUSAL_STALE)
        job->view = state->turn.marker.view;
    for (unsigned i = 0; i < job->count; i++)
        do_entry(job, &job->entries[i], state);
}

/* ---- rejoins --------------------------------------------------------------------------------- */

struct storage_job *storage_job_new_rejoin(struct storage_sqlite_master *master,
                                           const struct fence_rejoin_request *request)
{
    struct storage_job *job = storage_job_new(master, STORAGE_JOB_REJOIN);
    if (!job)
        return NULL;
    job->request = *request;
    if (request->fleet_id)
        fence_stored_copy(job->fleet_id, sizeof(job->fleet_id), request->fleet_id);
    if (request->view)
        job->view = *request->view;
    if (request->seen)
        job->facts = *request->seen;
    if (request->step != FENCE_REJOIN_INSTALL || request->page->len == 0)
        return job;
    job->page = malloc(request->page->len);
    if (!job->page) {
        free(job);
        return NULL;
    }
    memcpy(job->page, request->page->bytes, request->page->len);
    job->page_len = request->page->len;
    return job;
}

static void do_rejoin(struct storage_job *job, struct storage_state *state)
{
    assert(job->page_len == 0 || job->request.step == FENCE_REJOIN_INSTALL);
    struct fence_rejoin_request *request = &job->request;
    const struct fence_page page = {.bytes = job->page, .len = job->page_len};
    request->fleet_id = job->fleet_id;
    request->view = &job->view;
    request->seen = &job->facts;
    request->page = &page;
    state->page = NULL;
    job->reply = fence_master_rejoin(&state->turn, request);
    if (state->page)
        job->page = state->page;
    request->page = NULL;
    if (job->reply.view) {
        job->known = *job->reply.view;
        job->reply.view = &job->known;
    }
}

/* ---- listings -------------------------------------------------------------------------------- */

struct storage_job *storage_job_new_names(struct storage_sqlite_master *master,
                                          const struct fence_scan *scan)
{
    assert(scan->keys >= 1 && scan->keys <= FENCE_SCAN_KEYS_MAX);
    struct storage_job *job = storage_job_new(master, STORAGE_JOB_NAMES);
    if (!job)
        return NULL;
    job->listed = scan->kind;
    job->cursor = scan->cursor;
    job->keys = scan->keys;
    fence_stored_copy(job->prefix, sizeof(job->prefix), scan->prefix);
    return job;
}

struct storage_job *storage_job_new_holders(struct storage_sqlite_master *master,
                                            enum fence_listing_kind kind,
                                            const struct fence_lock_name *names, size_t count)
{
    struct storage_job *job = storage_job_new(master, STORAGE_JOB_HOLDERS);
    if (!job)
        return NULL;
    job->listed = kind;
    job->names = malloc(count * sizeof(*names));
    job->holders = calloc(count, sizeof(*job->holders));
    if (!job->names || !job->holders) {
        storage_job_free(job);
        return NULL;
    }
    memcpy(job->names, names, count * sizeof(*names));
    job->names_count = count;
    return job;
}

void storage_job_tell_found(struct storage_job *job, struct fence_found *ret_found)
{
    assert(job->kind == STORAGE_JOB_NAMES || job->kind == STORAGE_JOB_HOLDERS);
    assert(job->list == NULL);
    bool no_room = job->no_room;
    if (job->kind == STORAGE_JOB_NAMES) {
        job->list = calloc(job->names_count + 1, sizeof(*job->list));
        no_room = no_room || !job->list;
        for (size_t k = 0; job->list && k < job->names_count; k++)
            job->list[k] = job->names[k].text;
    }
    *ret_found = (struct fence_found){
        .part = FENCE_PART_GRANTED,
        .error = no_room ? FENCE_ENOMEM : 0,
        .next = job->cursor,
        .count = job->names_count,
        .names = job->list,
        .holders = job->holders,
    };
}

/* The next free name; NULL: no memory. */
static struct fence_lock_name *next_name(struct storage_job *job)
{
    assert(job->names_count <= job->names_room);
    if (job->names_count == job->names_room) {
        size_t room = job->names_room > 0 ? 2 * job->names_room : FENCE_SCAN_KEYS_MAX;
        struct fence_lock_name *names = realloc(job->names, room * sizeof(*names));
        if (!names)
            return NULL;
        job->names = names;
        job->names_room = room;
    }
    return &job->names[job->names_count];
}

/* Looks at so many rows, and at all further rows with the number of the last one, which is the hash
 * of a lock: a walk continues behind them. */
static void do_names(struct storage_job *job, struct storage_state *state)
{
    assert(job->keys >= 1 && job->names_count == 0);
    size_t len = strlen(job->prefix);
    int64_t last = 0;
    bool counters = job->listed == FENCE_LISTING_COUNTERS;
    enum storage_statement which = counters ? STORAGE_NAMED_NAMES : STORAGE_NAMES;
    struct storage_sql sql = storage_state_use(state, which);
    storage_sql_bind_int(&sql, 1, (int64_t)job->cursor);
    if (!counters)
        storage_sql_bind_int(&sql, 2, (int64_t)state->turn.now_ms);
    job->cursor = 0;
    for (unsigned looked = 0; storage_sql_row(&sql); looked++) {
        int64_t number = sqlite3_column_int64(sql.stmt, 0);
        if (looked >= job->keys && number != last) {
            job->cursor = (uint64_t)number;
            break;
        }
        last = number;
        struct fence_lock_name *name = next_name(job);
        job->no_room = !name;
        if (!name)
            break;
        storage_sql_column_text(&sql, 1, name->text, sizeof(name->text));
        job->names_count += strncmp(name->text, job->prefix, len) == 0;
    }
    storage_state_done(state, which, &sql);
}

static void do_holders(struct storage_job *job, struct storage_state *state)
{
    assert(job->holders != NULL);
    const struct fence_master_store *rows = state->turn.store;
    bool counters = job->listed == FENCE_LISTING_COUNTERS;
    for (size_t k = 0; k < job->names_count; k++) {
        struct fence_stored_lock lock;
        if (counters) {
            job->holders[k] = rows->named(state, job->names[k].text) > 0;
            continue;
        }
        rows->lock(state, job->names[k].text, &lock);
        job->holders[k] = lock.present ? fence_lock_id_hash(lock.lock_id) : 0;
    }
}

void storage_job_do(struct storage_job *job, struct storage_state *state)
{
    assert(!job->failed);
    switch (job->kind) {
    case STORAGE_JOB_REQUESTS:
        do_requests(job, state);
        break;
    case STORAGE_JOB_REJOIN:
        do_rejoin(job, state);
        break;
    case STORAGE_JOB_RESTAMP:
        storage_facts_restamp(state, &job->facts);
        storage_facts_tell(state, &job->facts);
        break;
    case STORAGE_JOB_FACTS:
        storage_facts_tell(state, &job->facts);
        break;
    case STORAGE_JOB_NAMES:
        do_names(job, state);
        break;
    case STORAGE_JOB_HOLDERS:
        do_holders(job, state);
        break;
    }
}
