/* An acquisition: attempts under one lock id, until one is granted or the time is over. */
#include "api/client/client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    LOCK_ID_BYTES = 21,        /* random bytes; 28 characters without padding */
    CANCEL_PATIENCE_MS = 2000, /* for the release of locks that a cancelled acquisition left
                                * behind */
    RELEASE_AGAIN_MS = 50,
    READERS_MAX = 63,     /* seats that a fleet may have for a name */
    WAIT_STEP_MS = 60000, /* the longest wait of one request: so a stopped server is noticed */
};

/* The state that stays the same during all attempts. */
struct acquisition {
    const struct pawl_request *request;
    char lock_id[PAWL_LOCK_ID_MAX + 1];
    char path[CLIENT_PATH_MAX];
    int64_t began_ms; /* the first attempt with this lock id */
    struct client_wait wait;
    bool told;     /* the next attempt waits: the holder was reported, or no report is wanted */
    bool in_doubt; /* an attempt may have left the lock behind */
};

static int make_lock_id(char ret_id[static PAWL_LOCK_ID_MAX + 1])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char bytes[LOCK_ID_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return PAWL_EUNAVAILABLE;
    char *at = ret_id;
    for (size_t i = 0; i < LOCK_ID_BYTES; i += 3) {
        const unsigned group =
            (unsigned)bytes[i] << 16 | (unsigned)bytes[i + 1] << 8 | (unsigned)bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *at++ = digits[group >> shift & 63];
    }
    *at = '\0';
    assert(at - ret_id <= PAWL_LOCK_ID_MAX);
    return 0;
}

static json_t *body_of(const struct acquisition *acquisition, int64_t wait_ms)
{
    assert(wait_ms >= 0 && acquisition->lock_id[0] != '\0');
    const struct pawl_request *request = acquisition->request;
    json_t *body =
        json_pack("{s:s, s:I}", "lock_id", acquisition->lock_id, "wait_ms", (json_int_t)wait_ms);
    if (request->ttl_ms > 0)
        (void)json_object_set_new(body, "ttl_ms", json_integer(request->ttl_ms));
    if (request->owner != NULL)
        (void)json_object_set_new(body, "owner", json_string(request->owner));
    if (request->delay_ms > 0)
        (void)json_object_set_new(body, "delay_ms", json_integer(request->delay_ms));
    if (request->permits > 0)
        (void)json_object_set_new(body, "permits", json_integer(request->permits));
    if (request->mode != PAWL_EXCLUSIVE)
        (void)json_object_set_new(body, "mode",
                                  json_string(request->mode == PAWL_READ ? "read" : "write"));
    if (request->name_count > 1) {
        json_t *names = json_array();
        for (size_t i = 0; i < request->name_count; i++)
            (void)json_array_append_new(names, json_string(request->names[i]));
        (void)json_object_set_new(body, "resources", names);
    }
    return body;
}

/* ---- a grant --------------------------------------------------------------------------------- */

/* Returns the token of @name in a grant; 0: there is none. */
static int64_t token_of(const json_t *json, const char *name, size_t count)
{
    assert(count >= 1);
    if (count == 1)
        return client_token(json, "token");
    const json_t *grants = json_object_get(json, "grants");
    for (size_t i = 0; i < json_array_size(grants); i++) {
        const json_t *grant = json_array_get(grants, i);
        const char *resource = client_text(grant, "resource");
        if (resource != NULL && strcmp(resource, name) == 0)
            return client_token(grant, "token");
    }
    return 0;
}

/* Returns how many seats a name may have; 0: the name has no seats. */
static int64_t seats_max(const struct pawl_request *request)
{
    return request->mode != PAWL_EXCLUSIVE ? READERS_MAX : request->permits;
}

/* The seat that was granted; NULL: the answer names none of this semaphore. */
static const char *seat_of(const json_t *json, const struct pawl_request *request)
{
    const char *resource = client_text(json, "resource");
    const size_t len = strlen(request->names[0]);
    if (resource == NULL || strncmp(resource, request->names[0], len) != 0 || resource[len] != '#')
        return NULL;
    const char *digits = resource + len + 1;
    const size_t count = strspn(digits, "0123456789");
    const bool is_seat = (count == 1 || (count == 2 && digits[0] != '0')) && digits[count] == '\0';
    return is_seat && strtol(digits, NULL, 10) < seats_max(request) ? resource : NULL;
}

static int refuse_grant(pawl_client *client, pawl_lock *lock)
{
    client_say(client, "%s granted a lock without a valid token or validity",
               client->server[client->current]);
    pawl_lock_free(lock);
    return PAWL_EPROTOCOL;
}

/* Reports whether @lock is a seat or the gate of @name. */
static bool is_lock_of(const char *lock, const char *name)
{
    const size_t len = strlen(name);
    return lock != NULL && strncmp(lock, name, len) == 0 && lock[len] == '#' &&
           strlen(lock) <= PAWL_NAME_MAX;
}

/* A writer has a lock for each seat, and the gate. */
static int take_writer(pawl_client *client, const struct acquisition *acquisition,
                       const struct client_answer *answer, pawl_lock **ret_lock)
{
    const struct pawl_request *request = acquisition->request;
    const json_t *grants = json_object_get(answer->json, "grants");
    const size_t count = json_array_size(grants);
    const int64_t ttl_ms = client_ttl(answer->json, request->ttl_ms);
    const int64_t deadline_ms = client_deadline(answer, ttl_ms);
    const char *names[PAWL_NAMES_MAX];
    bool fits = count >= 1 && count <= PAWL_NAMES_MAX && ttl_ms != 0 && deadline_ms >= 0;
    for (size_t i = 0; i < count && fits; i++) {
        const json_t *grant = json_array_get(grants, i);
        names[i] = client_text(grant, "resource");
        fits = is_lock_of(names[i], request->names[0]) && client_token(grant, "token") > 0;
    }
    if (!client_is_about(answer, acquisition->lock_id, request->names[0]))
        return client_say_other(client);
    if (!fits)
        return refuse_grant(client, NULL);
    pawl_lock *lock = client_lock_new(client, names, count, acquisition->lock_id, ttl_ms);
    if (lock == NULL)
        return PAWL_ENOMEM;
    (void)snprintf(lock->written, sizeof(lock->written), "%s", request->names[0]);
    for (size_t i = 0; i < count; i++)
        client_lock_set(lock, i, client_token(json_array_get(grants, i), "token"), deadline_ms);
    *ret_lock = lock;
    return 0;
}

static int take_grant(pawl_client *client, const struct acquisition *acquisition,
                      const struct client_answer *answer, pawl_lock **ret_lock)
{
    assert(answer->json != NULL);
    const struct pawl_request *request = acquisition->request;
    const int64_t ttl_ms = client_ttl(answer->json, request->ttl_ms);
    const int64_t deadline_ms = client_deadline(answer, ttl_ms);
    const bool wants_seat = request->permits > 0 || request->mode == PAWL_READ;
    const char *seat = wants_seat ? seat_of(answer->json, request) : NULL;
    if (request->mode == PAWL_WRITE)
        return take_writer(client, acquisition, answer, ret_lock);
    if (wants_seat && seat == NULL) {
        client_say(client, "%s granted a seat without a valid index",
                   client->server[client->current]);
        return PAWL_EPROTOCOL;
    }
    if (!client_is_about(answer, acquisition->lock_id, seat != NULL ? seat : request->names[0]))
        return client_say_other(client);
    pawl_lock *lock = client_lock_new(client, seat != NULL ? &seat : request->names,
                                      request->name_count, acquisition->lock_id, ttl_ms);
    if (lock == NULL)
        return PAWL_ENOMEM;
    for (size_t i = 0; i < request->name_count; i++) {
        const int64_t token = token_of(answer->json, request->names[i], request->name_count);
        if (token == 0 || ttl_ms == 0 || deadline_ms < 0)
            return refuse_grant(client, lock);
        client_lock_set(lock, i, token, deadline_ms);
    }
    *ret_lock = lock;
    return 0;
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* Returns how long an attempt waits. The first attempt does not wait if the caller wants to hear of
 * the holder, or if there are several servers: so it finds out quickly which server answers. */
static int64_t wait_of(const struct acquisition *acquisition)
{
    return acquisition->told ? client_wait_left_ms(&acquisition->wait, WAIT_STEP_MS) : 0;
}

static void tell_holder(struct acquisition *acquisition, const struct client_answer *answer)
{
    assert(acquisition->request->wait_ms != PAWL_NO_WAIT);
    if (acquisition->told)
        return;
    acquisition->told = true;
    if (acquisition->request->waiting == NULL)
        return;
    const char *name = client_text(answer->json, "resource");
    acquisition->request->waiting(
        acquisition->request->user,
        &(struct pawl_holder){
            .name = name,
            .owner = client_text(answer->json, "owner"),
            .retry_after_ms = client_integer(answer->json, "retry_after_ms"),
        });
}

static int read_problem(pawl_client *client, struct acquisition *acquisition,
                        const struct client_answer *answer)
{
    const int error = client_wait_problem(client, &acquisition->wait, answer);
    if (error == PAWL_EHELD && acquisition->wait.until_ms > pawl_now_ms())
        tell_holder(acquisition, answer);
    return error;
}

static int attempt(pawl_client *client, struct acquisition *acquisition, pawl_lock **ret_lock)
{
    assert(!client->attempting);
    const int64_t wait_ms = wait_of(acquisition);
    json_t *json = body_of(acquisition, wait_ms);
    char *body = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (body == NULL) {
        client_say(client, "out of memory, or a name is not UTF-8");
        return PAWL_EINVAL;
    }

    struct client_answer answer = {.json = NULL};
    struct client_request request = {.method = "POST",
                                     .path = acquisition->path,
                                     .body = body,
                                     .waited_ms = pawl_now_ms() - acquisition->began_ms};
    int error = client_wait_ask(client, &acquisition->wait, &request, wait_ms, &answer);
    free(body);
    if (error < 0) {
        acquisition->in_doubt |= client->reached;
        return error;
    }
    const bool is_grant = (answer.status == 200 || answer.status == 201) && answer.json != NULL;
    error = is_grant ? take_grant(client, acquisition, &answer, ret_lock)
                     : read_problem(client, acquisition, &answer);
    if (error == PAWL_EUNAVAILABLE || error == PAWL_EPROTOCOL || error == PAWL_ENOMEM)
        acquisition->in_doubt = true;
    client_answer_free(&answer);
    return error;
}

/* Makes one attempt after the other. A server that answered "held" is waited for. */
static int attempts(pawl_client *client, struct acquisition *acquisition, pawl_lock **ret_lock)
{
    client_wait_restart(client, &acquisition->wait);
    for (;;) {
        const bool told = acquisition->told;
        const int error = attempt(client, acquisition, ret_lock);
        if (error < 0 && atomic_load(&client->cancelled)) {
            client_say(client, "the acquisition was cancelled");
            return PAWL_ECANCELLED;
        }
        if (error == PAWL_EHELD) {
            if (pawl_now_ms() >= acquisition->wait.until_ms)
                return error;
            if (!told && acquisition->told)
                continue; /* this attempt did not wait: the next one does */
            acquisition->wait.patience.pause_ms = CLIENT_PAUSE_LEAST_MS;
        } else if (!client_may_repeat(error)) {
            return error;
        }
        if (!client_wait_goes_on(&acquisition->wait))
            return error;
    }
}

/* The server may see this release before it sees that the waiting call has disconnected, and may
 * grant in between. So if no lock was held, the lock is released once more, a moment later. */
static void release_twice(pawl_client *client, pawl_lock *lock)
{
    bool held = false;
    if (pawl_release(client, lock, &held) < 0 || held)
        return;
    struct client_patience moment = client_patience(pawl_now_ms() + RELEASE_AGAIN_MS);
    while (client_pause(&moment))
        ;
    (void)pawl_release(client, lock, NULL);
}

/* Returns all locks that an attempt may have left: for a semaphore and a reader, any of the seats.
 * A writer may have left the gate, too. */
static pawl_lock *left_behind(pawl_client *client, const struct acquisition *acquisition)
{
    const struct pawl_request *request = acquisition->request;
    char seats[PAWL_PERMITS_MAX][PAWL_NAME_MAX + 1];
    const char *names[PAWL_PERMITS_MAX];
    size_t count = (size_t)seats_max(request);
    if (count == 0)
        return client_lock_new(client, request->names, request->name_count, acquisition->lock_id,
                               0);
    for (size_t i = 0; i < count; i++)
        (void)snprintf(seats[i], sizeof(seats[i]), "%s#%zu", request->names[0], i);
    if (request->mode == PAWL_WRITE)
        (void)snprintf(seats[count++], sizeof(seats[0]), "%s#w", request->names[0]);
    for (size_t i = 0; i < count; i++)
        names[i] = seats[i];
    return client_lock_new(client, names, count, acquisition->lock_id, 0);
}

/* Releases the locks that an attempt may have left. No other caller knows the lock id: the locks
 * would stay until their lease ends. */
static void clean_up(pawl_client *client, const struct acquisition *acquisition)
{
    assert(acquisition->lock_id[0] != '\0');
    char reason[CLIENT_REASON_MAX];
    char problem[CLIENT_PROBLEM_MAX];
    memcpy(reason, client->reason, sizeof(reason));
    memcpy(problem, client->problem, sizeof(problem));
    pawl_lock *lock = left_behind(client, acquisition);
    if (atomic_load(&client->cancelled))
        atomic_store(&client->give_up_ms, pawl_now_ms() + CANCEL_PATIENCE_MS);
    if (lock != NULL)
        release_twice(client, lock);
    atomic_store(&client->give_up_ms, INT64_MAX);
    pawl_lock_free(lock);
    memcpy(client->reason, reason, sizeof(reason));
    memcpy(client->problem, problem, sizeof(problem));
}

static int check_request(pawl_client *client, const struct pawl_request *request,
                         char ret_path[static CLIENT_PATH_MAX])
{
    if (request->name_count < 1 || request->name_count > PAWL_NAMES_MAX) {
        client_say(client, "a lock must have 1 to %d names", PAWL_NAMES_MAX);
        return PAWL_EINVAL;
    }
    if (request->ttl_ms < 0 || request->delay_ms < 0) {
        client_say(client, "%s must not be negative", request->ttl_ms < 0 ? "ttl_ms" : "delay_ms");
        return PAWL_EINVAL;
    }
    const int wrong = client_wait_check(client, request->wait_ms);
    if (wrong < 0)
        return wrong;
    if (request->permits < 0 || request->permits > PAWL_PERMITS_MAX ||
        (request->permits > 0 && request->name_count > 1)) {
        client_say(client, "a semaphore has one name, and 1 to %d permits", PAWL_PERMITS_MAX);
        return PAWL_EINVAL;
    }
    if (request->mode != PAWL_EXCLUSIVE && (request->permits > 0 || request->name_count > 1)) {
        client_say(client, "a read-write lock has one name, and no permits");
        return PAWL_EINVAL;
    }
    const char *prefix = request->mode != PAWL_EXCLUSIVE ? "/v1/rwlocks/"
                         : request->permits > 0          ? "/v1/semaphores/"
                                                         : "/v1/locks/";
    for (size_t i = request->name_count; i-- > 0;) {
        const int error = client_path(client, prefix, request->names[i], ret_path);
        if (error < 0)
            return error;
    }
    if (request->name_count > 1)
        (void)snprintf(ret_path, CLIENT_PATH_MAX, "/v1/locks");
    return 0;
}

/* Refuses an unlimited wait for a lock of this client. A client serves one thread at a time: while
 * the client waits, no caller can release its lock. */
static int check_own(pawl_client *client, const struct pawl_request *request)
{
    for (size_t i = 0; i < request->name_count && request->wait_ms != PAWL_NO_WAIT; i++) {
        if (!client_held_has(client->held, request->names[i], pawl_now_ms()))
            continue;
        client_say(client,
                   "this client already holds %s, so it would wait for itself: release the lock "
                   "first, or do not wait",
                   request->names[i]);
        return PAWL_EREFUSED;
    }
    return 0;
}

/* Acquires again only if an answer arrived after its validity had ended. */
static int acquire_valid(pawl_client *client, struct acquisition *acquisition, pawl_lock **ret_lock)
{
    pawl_lock *lock = NULL;
    int error;
    do {
        pawl_lock_free(lock);
        lock = NULL;
        error = make_lock_id(acquisition->lock_id);
        if (error < 0) {
            client_say(client, "the system has no random bytes yet");
            return error;
        }
        acquisition->in_doubt = false;
        acquisition->began_ms = pawl_now_ms();
        error = attempts(client, acquisition, &lock);
        assert((lock != NULL) == (error == 0));
        if (error < 0 ? acquisition->in_doubt : pawl_lock_left_ms(lock) == 0)
            clean_up(client, acquisition);
    } while (error == 0 && pawl_lock_left_ms(lock) == 0 &&
             pawl_now_ms() < acquisition->wait.until_ms);
    if (error == 0 && pawl_lock_left_ms(lock) == 0) {
        client_say(client, "the lock was granted, but its validity had ended when the answer came");
        pawl_lock_free(lock);
        return PAWL_EUNAVAILABLE;
    }
    if (error == 0)
        *ret_lock = lock;
    return error;
}

int pawl_acquire(pawl_client *client, const struct pawl_request *request, pawl_lock **ret_lock)
{
    struct acquisition acquisition = {
        .request = request,
        .wait = client_wait(client, request->wait_ms),
        .told = request->waiting == NULL && client->server_count == 1,
    };
    int error = client_check_owner(client);
    if (error == 0)
        error = check_request(client, request, acquisition.path);
    if (error == 0)
        error = check_own(client, request);
    if (error < 0)
        return error;
    atomic_store(&client->cancelled, false);
    pawl_lock *lock = NULL;
    error = acquire_valid(client, &acquisition, &lock);
    if (error < 0) {
        client_about(client, "acquire", request->names[0], request->name_count);
        return error;
    }
    client_held_add(client->held, lock);
    *ret_lock = lock;
    return 0;
}
