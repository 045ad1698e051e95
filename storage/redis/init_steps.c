#include "storage/redis/init_steps.h"

#include "fence/protocol/decimal.h"
#include "storage/redis/clock.h"
#include "storage/redis/keys.h"
#include "storage/redis/rejoin.h"
#include "storage/redis/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

enum {
    WATCH_MS = 1000, /* between two looks at the masters while time is let go by */
};

void storage_init_draw_fleet_id(char ret_fleet_id[static FENCE_ID_HEX_LEN + 1])
{
    unsigned char random[FENCE_ID_HEX_LEN / 2];
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(ret_fleet_id, FENCE_ID_HEX_LEN + 1, random, sizeof(random));
}

void storage_init_draw_view(const struct fence_view *before, unsigned n,
                            struct fence_view *ret_view)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t bits = 0;
        randombytes_buf(&bits, sizeof(bits));
        ret_view->incarnation[i] = fence_incarnation_next(before->incarnation[i], bits);
    }
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* Has master @i do @request, which lacks what this run says in all of them. @changed: what it means
 * where another marker stood there. */
static int take_step(struct storage_init_session *session, unsigned i,
                     struct fence_rejoin_request *request, const struct storage_init_terms *terms,
                     const char *changed)
{
    unsigned n = session->init->n;
    char *command = NULL;
    size_t len = 0;
    request->member = i;
    request->incarnation = session->meant[i];
    request->seen = &session->seen[i];
    int error = storage_rejoin_command(request, terms, i, n, &command, &len);
    if (error)
        return storage_init_fail_at(session, i, error, "%s", fence_strerror(error));
    redisReply *reply = storage_init_send(session, i, command, len);
    redisFreeCommand(command);
    struct fence_rejoin_reply read = storage_rejoin_reply(request->step, reply, n, NULL);
    if (read.outcome == FENCE_REJOIN_LOST || read.outcome == FENCE_REJOIN_REFUSED)
        return storage_init_fail_reply(session, i, reply);
    freeReplyObject(reply);
    if (read.outcome == FENCE_REJOIN_CHANGED)
        return storage_init_fail_at(session, i, FENCE_ECONFLICT, "%s", changed);
    request->cursor = read.cursor;
    return 0;
}

int storage_init_claim(struct storage_init_session *session,
                       const struct storage_init_marker *marker)
{
    const struct storage_init_terms terms = {
        .mark = marker->has_past ? STORAGE_MARK_FLOOR : STORAGE_MARK_NEW,
    };
    int error = 0;
    for (unsigned i = 0; !error && i < session->init->n; i++) {
        struct fence_rejoin_request request = {
            .step = FENCE_REJOIN_MARK,
            .fleet_id = marker->fleet_id,
            .ttl_max_ms = marker->ttl_max_ms,
            .view = &marker->view,
        };
        session->meant[i] = marker->admitted.incarnation[i];
        error =
            take_step(session, i, &request, &terms,
                      "its key " STORAGE_FLEET_KEY " changed just now: pawld taking it back, or "
                      "another pawld init, was faster");
    }
    return error;
}

static const char taken_over[] =
    "it is no longer claimed for this run of init: it was wiped, or another run claimed it";

static int wipe_one(struct storage_init_session *session, unsigned i)
{
    struct fence_rejoin_request request = {.step = FENCE_REJOIN_CLEAR};
    int error = 0;
    do { /* ends: no lock is added meanwhile, and the cursor goes round once */
        error = take_step(session, i, &request, NULL, taken_over);
        session->steps[i] = ++request.steps;
    } while (!error && request.cursor != 0);
    return error;
}

int storage_init_wipe(struct storage_init_session *session)
{
    int error = 0;
    for (unsigned i = 0; !error && i < session->init->n; i++)
        error = wipe_one(session, i);
    return error;
}

int storage_init_admit(struct storage_init_session *session,
                       const struct storage_init_marker *marker, int64_t floor,
                       unsigned *ret_admitted)
{
    /* Counters that survivors kept are at the floor or below, and count no more: a number that is
     * taken is above the floor. */
    const struct storage_init_terms terms = {.floor = floor};
    int first_error = 0;
    *ret_admitted = 0;
    for (unsigned i = 0; i < session->init->n; i++) {
        struct fence_rejoin_request request = {
            .step = FENCE_REJOIN_ADMIT,
            .view = &marker->admitted,
            .steps = session->steps[i],
        };
        int error = take_step(session, i, &request, &terms, taken_over);
        *ret_admitted += error == 0;
        if (!first_error)
            first_error = error;
    }
    return first_error;
}

/* ---- counters -------------------------------------------------------------------------------- */

/* All that holds a number of tokens, not of the marker. */
static bool is_counter(const char *field)
{
    return strspn(field, "0123456789") == strlen(field) || strncmp(field, "n:", 2) == 0 ||
           strcmp(field, "floor") == 0;
}

static bool read_counter(const char *text, int64_t *ret_value)
{
    uint64_t value = 0;
    if (!fence_decimal_read(text, strlen(text), FENCE_TOKEN_MAX, &value))
        return false;
    *ret_value = (int64_t)value;
    return true;
}

static bool is_string(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING;
}

/* FENCE_EIO: no Redis has such a field. */
static int read_field(struct storage_init_session *session, unsigned i, const redisReply *field,
                      const redisReply *text, int64_t *highest)
{
    char shown[STORAGE_WHY_MAX];
    int64_t value = 0;
    if (!is_string(field) || !is_string(text))
        return FENCE_EIO;
    if (!is_counter(field->str))
        return 0;
    storage_text_show(shown, sizeof(shown), field->str, field->len);
    if (!read_counter(text->str, &value))
        return storage_init_fail_at(session, i, FENCE_ECONFLICT,
                                    "the counter %s in its key " STORAGE_FLEET_KEY
                                    " is not one that Pawl wrote: mend or delete it",
                                    shown);
    if (value > *highest)
        *highest = value;
    return 0;
}

static int read_one(struct storage_init_session *session, unsigned i, int64_t *highest)
{
    redisReply *reply =
        storage_init_ask(session, i, 2, (const char *const[]){"HGETALL", STORAGE_FLEET_KEY});
    if (!reply || reply->type != REDIS_REPLY_ARRAY)
        return storage_init_fail_reply(session, i, reply);
    int error = 0;
    for (size_t k = 0; !error && k < reply->elements; k += 2)
        error = k + 1 < reply->elements
                    ? read_field(session, i, reply->element[k], reply->element[k + 1], highest)
                    : FENCE_EIO;
    if (error == FENCE_EIO)
        return storage_init_fail_reply(session, i, reply);
    freeReplyObject(reply);
    return error;
}

int storage_init_read(struct storage_init_session *session, int64_t *ret_highest)
{
    int64_t highest = 0;
    int error = 0;
    for (unsigned i = 0; !error && i < session->init->n; i++)
        error = read_one(session, i, &highest);
    if (!error)
        *ret_highest = highest;
    return error;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void sleep_ms(uint64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0)
        continue; /* a signal came */
}

static int check_claims(struct storage_init_session *session)
{
    for (unsigned i = 0; i < session->init->n; i++) {
        char meant[24];
        snprintf(meant, sizeof(meant), "%lld", (long long)session->meant[i]);
        const char *const question[] = {"HGET", STORAGE_FLEET_KEY, "next"};
        redisReply *reply = storage_init_ask(session, i, 3, question);
        if (!reply || reply->type == REDIS_REPLY_ERROR)
            return storage_init_fail_reply(session, i, reply);
        bool ours = reply->type == REDIS_REPLY_STRING && strcmp(reply->str, meant) == 0;
        freeReplyObject(reply);
        if (!ours)
            return storage_init_fail_at(session, i, FENCE_ECONFLICT, "%s", taken_over);
    }
    return 0;
}

int storage_init_hold(struct storage_init_session *session, uint64_t hold_ms)
{
    uint64_t end_ms =
        storage_clock_us() / 1000 + hold_ms + 1; /* the clock's milliseconds are cut off */
    int error = 0;
    for (uint64_t now = storage_clock_us() / 1000; !error && now < end_ms;
         now = storage_clock_us() / 1000) {
        error = check_claims(session);
        if (!error)
            sleep_ms(end_ms - now < WATCH_MS ? end_ms - now : WATCH_MS);
    }
    return error;
}
