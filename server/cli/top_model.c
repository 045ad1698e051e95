#include "server/cli/top_model.h"

#include "server/cli/common.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    REPLAY_MOST_MS = 60 * 1000, /* a server keeps events so long for a reader that returns */
};

int cli_top_model_init(struct cli_top_model *model)
{
    *model = (struct cli_top_model){.changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    (void)pthread_mutex_init(&model->mutex, NULL);
    return model->changed_fd < 0 ? -1 : 0;
}

static void begin_change(struct cli_top_model *model)
{
    (void)pthread_mutex_lock(&model->mutex);
}

static void end_change(struct cli_top_model *model)
{
    const uint64_t one = 1;
    (void)pthread_mutex_unlock(&model->mutex);
    if (write(model->changed_fd, &one, sizeof(one)) < 0)
        return; /* it is full, and so readable */
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Copies a text of UTF-8; what does not fit is cut between two characters. */
static void copy_whole(char *ret_text, size_t size, const char *text)
{
    assert(size > 0);
    size_t len = strnlen(text, size);
    if (len == size)
        for (len = size - 1; len > 0 && ((unsigned char)text[len] & 0xc0U) == 0x80U;)
            len--;
    memcpy(ret_text, text, len);
    ret_text[len] = '\0';
}

static const char *string_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text != NULL ? text : "";
}

static int64_t number_of(const json_t *json, const char *name)
{
    return json_integer_value(json_object_get(json, name));
}

/* "2026-11-27T14:03:05.123Z"; 0: it is no time. */
static int64_t read_at(const char *text)
{
    struct tm utc = {.tm_isdst = 0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    if (rest == NULL)
        return 0;
    const int64_t ms = rest[0] == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return (int64_t)timegm(&utc) * 1000 + (ms >= 0 && ms < 1000 ? ms : 0);
}

static int64_t wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the fleet ------------------------------------------------------------------------------- */

void cli_top_set_fleet(struct cli_top_model *model, json_t *fleet, const char *reason)
{
    begin_change(model);
    if (fleet != NULL) {
        json_decref(model->fleet);
        model->fleet = fleet;
        model->heard_s = wall_ms() / 1000;
    }
    copy_whole(model->silent, sizeof(model->silent), fleet != NULL ? "" : reason);
    end_change(model);
}

void cli_top_set_live(struct cli_top_model *model, bool live)
{
    begin_change(model);
    model->live = live;
    end_change(model);
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t hash_of_name(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash;
}

static struct cli_top_lock *find_lock(struct cli_top_model *model, const char *name)
{
    const uint64_t hash = hash_of_name(name);
    for (size_t i = 0; i < model->count; i++)
        if (model->locks[i].hash == hash && strcmp(model->locks[i].name, name) == 0)
            return &model->locks[i];
    return NULL;
}

static void drop_lock(struct cli_top_model *model, struct cli_top_lock *lock)
{
    const size_t at = (size_t)(lock - model->locks);
    assert(at < model->count);
    if (at < --model->count)
        *lock = model->locks[model->count];
}

/* Returns the lock @name under @token. A new grant begins now. NULL: there is no room for more
 * locks. */
static struct cli_top_lock *put_lock(struct cli_top_model *model, const char *name, int64_t token)
{
    struct cli_top_lock *lock = find_lock(model, name);
    if (lock == NULL && model->count == CLI_TOP_LOCKS_MAX)
        return NULL;
    if (lock == NULL) {
        lock = &model->locks[model->count++];
        *lock = (struct cli_top_lock){.hash = hash_of_name(name), .token = -1};
        copy_whole(lock->name, sizeof(lock->name), name);
    }
    if (lock->token != token) {
        lock->token = token;
        lock->since_ms = pawl_now_ms();
        lock->exact = false;
        lock->owner[0] = '\0';
    }
    return lock;
}

void cli_top_begin_listing(struct cli_top_model *model)
{
    begin_change(model);
    for (size_t i = 0; i < model->count; i++)
        model->locks[i].listed = false;
    end_change(model);
}

void cli_top_add_page(struct cli_top_model *model, const json_t *locks)
{
    begin_change(model);
    for (size_t i = 0; i < json_array_size(locks); i++) {
        const json_t *listed = json_array_get(locks, i);
        char holder[CLI_HOLDER_MAX];
        const char *name = string_of(listed, "resource");
        struct cli_top_lock *lock = put_lock(model, name, number_of(listed, "token"));
        if (lock == NULL)
            break;
        cli_holder_text(listed, "", holder);
        copy_whole(lock->owner, sizeof(lock->owner), holder);
        lock->ends_ms = pawl_now_ms() + number_of(listed, "remaining_ms");
        lock->waiters = number_of(listed, "waiters");
        lock->listed = true;
    }
    end_change(model);
}

void cli_top_end_listing(struct cli_top_model *model, bool complete, const char *reason)
{
    begin_change(model);
    for (size_t i = model->count; i-- > 0 && reason[0] == '\0';)
        if (!model->locks[i].listed)
            drop_lock(model, &model->locks[i]);
    model->complete = complete;
    copy_whole(model->unlisted, sizeof(model->unlisted), reason);
    end_change(model);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *kind, const char *const *kinds)
{
    while (*kinds != NULL && strcmp(kind, *kinds) != 0)
        kinds++;
    return *kinds != NULL;
}

static void grant_lock(struct cli_top_model *model, const char *name, const json_t *members)
{
    struct cli_top_lock *lock = put_lock(model, name, number_of(members, "token"));
    if (lock == NULL)
        return;
    const int64_t ago_ms = wall_ms() - read_at(string_of(members, "at"));
    lock->since_ms = pawl_now_ms() - (ago_ms > 0 && ago_ms < REPLAY_MOST_MS ? ago_ms : 0);
    lock->exact = true;
    lock->listed = true; /* a listing that is under way may already have passed this name */
    lock->ends_ms = pawl_now_ms() + number_of(members, "validity_ms");
    copy_whole(lock->owner, sizeof(lock->owner), string_of(members, "owner"));
}

/* The words of an event about the lock @name. */
static void follow_lock(struct cli_top_model *model, const char *kind, const char *name,
                        const json_t *members)
{
    static const char *const ends[] = {"released", "expired", "lost", "broken", NULL};
    const int64_t token = number_of(members, "token");
    struct cli_top_lock *lock = find_lock(model, name);
    if (strcmp(kind, "granted") == 0)
        grant_lock(model, name, members);
    else if (lock == NULL)
        return;
    else if (strcmp(kind, "extended") == 0 && lock->token == token)
        lock->ends_ms = pawl_now_ms() + number_of(members, "validity_ms");
    else if (is_one_of(kind, ends) && lock->token <= token)
        drop_lock(model, lock);
}

/* The words of an event beside its name and its token. */
static void write_detail(const json_t *members, char ret_detail[static CLI_TOP_DETAIL_MAX])
{
    const char *owner = string_of(members, "owner"), *reason = string_of(members, "reason");
    const char *holder = string_of(members, "holder"), *state = string_of(members, "state");
    const char *address = string_of(members, "address");
    const int64_t missed = number_of(members, "missed");
    char text[1024];
    if (holder[0] != '\0')
        (void)snprintf(text, sizeof(text), "%s%sheld by %s", owner, owner[0] ? ": " : "", holder);
    else if (address[0] != '\0')
        (void)snprintf(text, sizeof(text), "%s is %s%s%s", address, state, reason[0] ? ": " : "",
                       reason);
    else if (missed > 0)
        (void)snprintf(text, sizeof(text), "%lld events are missing", (long long)missed);
    else
        (void)snprintf(text, sizeof(text), "%s%s%s%s", owner, state,
                       (owner[0] || state[0]) && reason[0] ? ": " : "", reason);
    copy_whole(ret_detail, CLI_TOP_DETAIL_MAX, text);
}

static void keep_event(struct cli_top_events *events, const struct cli_top_event *event)
{
    events->each[events->count++ % CLI_TOP_EVENTS_MAX] = *event;
}

void cli_top_add_event(struct cli_top_model *model, const struct pawl_event *event)
{
    static const char *const trouble[] = {"lost", "broken", "refused", NULL};
    json_t *members = json_loads(event->json, 0, NULL);
    struct cli_top_event kept = {.token = number_of(members, "token")};
    kept.at_ms = read_at(string_of(members, "at"));
    copy_whole(kept.kind, sizeof(kept.kind), event->name);
    copy_whole(kept.name, sizeof(kept.name), string_of(members, "resource"));
    write_detail(members, kept.detail);
    begin_change(model);
    if (kept.name[0] != '\0')
        follow_lock(model, kept.kind, kept.name, members);
    copy_whole(model->server, sizeof(model->server), string_of(members, "server"));
    keep_event(&model->all, &kept);
    if (is_one_of(kept.kind, trouble))
        keep_event(&model->trouble, &kept);
    end_change(model);
    json_decref(members);
}
