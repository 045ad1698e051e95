#include "api/auth/auth.h"

#include "api/http/problem_answer.h"
#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct api_auth {
    struct api_access access;
    struct api_keyring *ring;
    struct api_keys *keys; /* in force after @swaps */
    unsigned swaps;
};

static uint64_t auth_now_us(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_MONOTONIC, &now);
    assert(!failed);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- refusing -------------------------------------------------------------------------------- */

static bool refuse_unknown(struct api_request *request, bool sent)
{
    if (sent)
        api_problem_answer_detail(request, API_PROBLEM_KEY_REQUIRED,
                                  "The key is unknown. Send the key as Authorization: Bearer "
                                  "pawl_... If the operator rotated the key, ask for the new key.");
    else
        api_problem_answer(request, API_PROBLEM_KEY_REQUIRED);
    return false;
}

static bool refuse_rate(struct api_request *request, const struct api_key *key, uint64_t wait_us)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_RATE, NULL);
    api_write_string(&writer, "key", key->id);
    api_write_integer(&writer, "rate", key->rate);
    api_write_integer(&writer, "retry_after_ms", (int64_t)((wait_us + 999) / 1000));
    api_problem_end(&writer, request, API_PROBLEM_RATE, (int64_t)((wait_us + 999999) / 1000000));
    return false;
}

/* @name NULL: the role does not have @right. Otherwise no prefix of the key covers @name. */
static bool refuse_right(struct api_request *request, const struct api_key *key,
                         enum api_right right, const char *name)
{
    char detail[API_DETAIL_MAX];
    if (name == NULL)
        (void)snprintf(detail, sizeof(detail),
                       "The call needs the right %s, and the key %s has the role %s. Use a key "
                       "with that right.",
                       api_right_name(right), key->id, api_right_name(key->right));
    else if (name[0] == '\0')
        (void)snprintf(
            detail, sizeof(detail),
            "The key %s does not cover all names. Add ?prefix= with a prefix of this key.",
            key->id);
    else
        (void)snprintf(detail, sizeof(detail),
                       "No prefix of the key %s covers '%.255s'. Use a key for this name.", key->id,
                       name);
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_NOT_ALLOWED, detail);
    api_write_string(&writer, "key", key->id);
    api_write_string(&writer, "right", api_right_name(right));
    if (name != NULL)
        api_write_string(&writer, "prefix", name);
    api_problem_end(&writer, request, API_PROBLEM_NOT_ALLOWED, -1);
    return false;
}

/* ---- the callbacks --------------------------------------------------------------------------- */

static void refresh(struct api_auth *auth)
{
    const unsigned swaps = api_keyring_swaps(auth->ring);
    if (swaps == auth->swaps)
        return;
    api_keys_unref(auth->keys);
    auth->keys = api_keyring_keys(auth->ring);
    auth->swaps = swaps;
}

/* The scheme may be in any case (RFC 9110, section 11.1). NULL: no key. */
static struct api_key *key_of_header(const struct api_auth *auth, const char *value)
{
    static const char scheme[] = "Bearer ";
    if (strncasecmp(value, scheme, sizeof(scheme) - 1) != 0)
        return NULL;
    value += sizeof(scheme) - 1;
    return api_keys_verify(auth->keys, value + strspn(value, " "));
}

static struct api_key *key_of_certificate(const struct api_auth *auth,
                                          const struct api_request *request)
{
    const char *subject = api_request_subject(request);
    return subject[0] != '\0' ? api_keys_of_subject(auth->keys, subject) : NULL;
}

static void forget_caller(struct api_caller *caller)
{
    struct api_key *key = caller->key;
    assert(key != NULL && caller->reserved <= FENCE_GROUP_MAX);
    if (caller->reserved > 0)
        api_usage_cancel(key->usage, caller->reserved);
    api_key_unref(key);
}

static unsigned calls_of(const struct api_route *route)
{
    return route != NULL && route->cost == API_COSTLIEST ? API_COSTLIEST_CALLS : 1;
}

static bool authorize(void *context, struct api_request *request, const struct api_route *route,
                      const char *value, struct api_caller *ret_caller)
{
    struct api_auth *auth = context;
    assert(ret_caller->key == NULL);
    const bool open = route != NULL && route->right == API_RIGHT_NONE;
    uint64_t wait_us = 0;
    refresh(auth);
    struct api_key *key =
        value != NULL ? key_of_header(auth, value) : key_of_certificate(auth, request);
    if (key == NULL)
        return open || refuse_unknown(request, value != NULL);
    *ret_caller = (struct api_caller){
        .id = key->id,
        .key = api_key_ref(key),
        .keyring = auth,
        .done = forget_caller,
    };
    if (open)
        return true;
    if (key->rate > 0 && !api_request_is_part(request) &&
        !api_usage_take(key->usage, key->rate, key->burst, calls_of(route), auth_now_us(),
                        &wait_us))
        return refuse_rate(request, key, wait_us);
    if (route != NULL && route->right > key->right)
        return refuse_right(request, key, route->right, NULL);
    return true;
}

static bool permits(void *context, struct api_request *request, enum api_right right,
                    const char *name)
{
    const struct api_key *key = api_request_known(request)->key;
    (void)context;
    if (key == NULL)
        return refuse_unknown(request, false);
    if (key->right < right)
        return refuse_right(request, key, right, NULL);
    return api_key_reaches(key, name) || refuse_right(request, key, right, name);
}

/* ---- setting up ------------------------------------------------------------------------------ */

int api_auth_new(struct api_keyring *ring, struct api_auth **ret_auth)
{
    struct api_auth *auth = calloc(1, sizeof(*auth));
    if (auth == NULL)
        return FENCE_ENOMEM;
    auth->access = (struct api_access){
        .context = auth,
        .authorize = authorize,
        .permits = permits,
    };
    auth->ring = ring;
    auth->swaps = api_keyring_swaps(ring);
    auth->keys = api_keyring_keys(ring);
    *ret_auth = auth;
    return 0;
}

void api_auth_free(struct api_auth *auth)
{
    if (auth == NULL)
        return;
    api_keys_unref(auth->keys);
    free(auth);
}

const struct api_access *api_auth_access(const struct api_auth *auth)
{
    return auth != NULL ? &auth->access : NULL;
}

/* ---- what a handler asks --------------------------------------------------------------------- */

/* The key of the caller; NULL: there is none, or the server has no keys. */
static struct api_key *key_of(struct api_request *request)
{
    const struct api_caller *caller = api_request_known(request);
    return caller != NULL ? caller->key : NULL;
}

int api_auth_require(struct api_request *request, enum api_right right, const char *name)
{
    return api_request_permits(request, right, name) ? 0 : FENCE_EINVAL;
}

bool api_auth_may_read(struct api_request *request, const char *name)
{
    const struct api_key *key = key_of(request);
    return key != NULL ? api_key_reaches(key, name) : api_request_known(request) == NULL;
}

bool api_auth_is_known(struct api_request *request)
{
    return api_request_known(request) == NULL || key_of(request) != NULL;
}

bool api_auth_sees_key(struct api_request *request, const char *key_id)
{
    const struct api_key *key = key_of(request);
    return key != NULL && (key->right == API_RIGHT_ADMIN || strcmp(key->id, key_id) == 0);
}

/* ---- the cap on locks ------------------------------------------------------------------------ */

static uint64_t end_of_lease_us(uint32_t ttl_ms)
{
    return auth_now_us() + (uint64_t)ttl_ms * 1000;
}

static void refuse_lock(struct api_request *request, const struct api_key *key, unsigned held)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_TOO_MANY_HELD, NULL);
    api_write_string(&writer, "key", key->id);
    api_write_integer(&writer, "held", held);
    api_write_integer(&writer, "held_max", key->held);
    api_problem_end(&writer, request, API_PROBLEM_TOO_MANY_HELD, -1);
}

/* Reports what api_usage_reserve() returned for @count locks. FENCE_EINVAL: answered. */
static int tell_reserved(struct api_request *request, const struct api_key *key, int result,
                         unsigned count, unsigned held)
{
    if (result == 0)
        api_request_known(request)->reserved = count;
    else if (result == FENCE_EBUSY)
        refuse_lock(request, key, held);
    else
        api_problem_answer(request, API_PROBLEM_NO_MEMORY);
    return result == 0 ? 0 : FENCE_EINVAL;
}

int api_auth_reserve(struct api_request *request, const char *lock_id,
                     const char *const resources[], unsigned count)
{
    struct api_key *key = key_of(request);
    struct api_usage_mark marks[FENCE_GROUP_MAX];
    unsigned held = 0;
    assert(count > 0 && count <= FENCE_GROUP_MAX);
    if (key == NULL || key->held == 0)
        return 0;
    assert(api_request_known(request)->reserved == 0);
    for (unsigned i = 0; i < count && lock_id != NULL; i++)
        marks[i] = api_usage_mark(lock_id, resources[i]);
    const int result = api_usage_reserve(key->usage, lock_id != NULL ? marks : NULL, count,
                                         key->held, auth_now_us(), &held);
    return tell_reserved(request, key, result, count, held);
}

int api_auth_reserve_seat(struct api_request *request, const char *lock_id, const char *name,
                          unsigned seats)
{
    struct api_key *key = key_of(request);
    struct api_usage_mark marks[FENCE_SEATS_MAX];
    char seat[FENCE_RESOURCE_MAX + 1];
    unsigned held = 0;
    assert(seats > 0 && seats <= FENCE_SEATS_MAX && strlen(name) <= FENCE_SEATS_NAME_MAX);
    if (key == NULL || key->held == 0)
        return 0;
    assert(api_request_known(request)->reserved == 0);
    memcpy(seat, name, strlen(name) + 1);
    for (unsigned k = 0; k < seats && lock_id != NULL; k++) {
        fence_seat_write(seat, k);
        marks[k] = api_usage_mark(lock_id, seat);
    }
    const int result =
        lock_id != NULL
            ? api_usage_reserve_one_of(key->usage, marks, seats, key->held, auth_now_us(), &held)
            : api_usage_reserve(key->usage, NULL, 1, key->held, auth_now_us(), &held);
    return tell_reserved(request, key, result, 1, held);
}

/* Reports whether a lock is reserved under the key of @request. If none is, a grant needs no mark:
 * a mark costs a hash. */
static bool has_reserved(struct api_request *request)
{
    const struct api_caller *caller = api_request_known(request);
    return caller != NULL && caller->reserved > 0;
}

static void note_granted(struct api_request *request, struct api_usage_mark mark, uint64_t seats,
                         uint32_t ttl_ms)
{
    struct api_caller *caller = api_request_known(request);
    assert(has_reserved(request));
    const struct api_key *key = caller->key;
    api_usage_grant(key->usage, mark, seats, end_of_lease_us(ttl_ms));
    caller->reserved--;
}

void api_auth_granted(struct api_request *request, const char *lock_id, const char *resource,
                      uint32_t ttl_ms)
{
    if (has_reserved(request))
        note_granted(request, api_usage_mark(lock_id, resource), 0, ttl_ms);
}

/* Returns the mark of the writer that may have @seat, by the name of its gate. */
static struct api_usage_mark writers_mark(const char *lock_id, const char *seat)
{
    char gate[FENCE_RESOURCE_MAX + 1];
    memcpy(gate, seat, strlen(seat) + 1);
    fence_gate_write(gate);
    return api_usage_mark(lock_id, gate);
}

void api_auth_granted_all(struct api_request *request, const char *lock_id, const char *name,
                          unsigned seats, uint32_t ttl_ms)
{
    assert(seats >= 1 && seats <= FENCE_READERS_MAX);
    if (has_reserved(request))
        note_granted(request, writers_mark(lock_id, name), (UINT64_C(1) << seats) - 1, ttl_ms);
}

/* The bit of the seat that @resource is; 0: it is none. */
static uint64_t seat_bit_of(const char *resource)
{
    unsigned seat = 0;
    return fence_seat_read(resource, strlen(resource), &seat) ? UINT64_C(1) << seat : 0;
}

void api_auth_extended(struct api_request *request, const char *lock_id, const char *resource,
                       uint32_t ttl_ms)
{
    const struct api_key *key = key_of(request);
    if (key == NULL || key->held == 0)
        return;
    api_usage_extend(key->usage, api_usage_mark(lock_id, resource), end_of_lease_us(ttl_ms));
    if (seat_bit_of(resource) != 0)
        api_usage_extend(key->usage, writers_mark(lock_id, resource), end_of_lease_us(ttl_ms));
}

void api_auth_ended(struct api_request *request, const char *lock_id, const char *resource)
{
    const struct api_key *key = key_of(request);
    if (key == NULL || key->held == 0)
        return;
    const uint64_t seat = seat_bit_of(resource);
    if (!fence_gate_is(resource, strlen(resource)))
        api_usage_release(key->usage, api_usage_mark(lock_id, resource), 0);
    if (seat != 0)
        api_usage_release(key->usage, writers_mark(lock_id, resource), seat);
}

void api_auth_kept(struct api_request *request, const char *lock_id, const char *resource,
                   uint32_t keep_ms)
{
    const struct api_key *key = key_of(request);
    if (key != NULL && key->held > 0)
        api_usage_keep(key->usage, api_usage_mark(lock_id, resource),
                       auth_now_us() + keep_ms * UINT64_C(1000));
}

/* A key of an earlier set shares its usage with the key of the same id in force. */
void api_auth_broken(struct api_request *request, const char *lock_id, const char *resource)
{
    const struct api_caller *caller = api_request_known(request);
    if (caller == NULL || caller->key == NULL)
        return;
    struct api_auth *auth = caller->keyring;
    assert(auth != NULL);
    refresh(auth);
    const uint64_t seat = seat_bit_of(resource);
    if (!fence_gate_is(resource, strlen(resource)))
        api_keys_release(auth->keys, api_usage_mark(lock_id, resource), 0);
    if (seat != 0)
        api_keys_release(auth->keys, writers_mark(lock_id, resource), seat);
}
