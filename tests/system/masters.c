#include "tests/system/masters.h"

#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <string.h>

struct wanted {
    uint16_t port;
    unsigned i;
    const char *state; /* NULL: any but active */
    const char *reason;
};

static const struct http_response *show(uint16_t port)
{
    return call(port, "GET", "/v1/fleet", NULL, NULL);
}

static bool equal(const json_t *text, const char *wanted)
{
    return wanted ? json_is_string(text) && strcmp(json_string_value(text), wanted) == 0
                  : json_is_null(text);
}

static bool is_as_wanted(void *arg)
{
    const struct wanted *wanted = arg;
    const json_t *masters = json_object_get(show(wanted->port)->json, "masters");
    const json_t *master = json_array_get(masters, wanted->i);
    const json_t *state = json_object_get(master, "state");
    const bool right = wanted->state ? equal(state, wanted->state) : !equal(state, "active");
    return right && equal(json_object_get(master, "reason"), wanted->reason);
}

bool masters_is(uint16_t port, unsigned i, const char *state, const char *reason)
{
    struct wanted wanted = {port, i, state, reason};
    return is_as_wanted(&wanted);
}

bool masters_are_settled(uint16_t port)
{
    static const char *const settled[] = {"active", "refused", "down"};
    const json_t *masters = json_object_get(show(port)->json, "masters");
    size_t i;
    const json_t *master;
    json_array_foreach(masters, i, master)
    {
        const json_t *state = json_object_get(master, "state");
        bool is_settled = false;
        for (size_t k = 0; k < sizeof(settled) / sizeof(settled[0]); k++)
            is_settled = is_settled || equal(state, settled[k]);
        if (!is_settled)
            return false;
    }
    return json_array_size(masters) > 0;
}

void masters_wait_within(uint16_t port, unsigned i, const char *state, const char *reason,
                         unsigned timeout_ms)
{
    struct wanted wanted = {port, i, state, reason};
    if (wait_until(is_as_wanted, &wanted, timeout_ms))
        return;
    const json_t *masters = json_object_get(show(port)->json, "masters");
    char *is = json_dumps(json_array_get(masters, i), 0);
    fail_msg("master %u is not %s (%s), but: %s", i + 1, state, reason ? reason : "", is);
}

void masters_wait(uint16_t port, unsigned i, const char *state, const char *reason)
{
    masters_wait_within(port, i, state, reason, MASTERS_WAIT_MS);
}

void masters_wait_out(uint16_t port, unsigned i, const char *reason, unsigned timeout_ms)
{
    struct wanted wanted = {port, i, NULL, reason};
    if (!wait_until(is_as_wanted, &wanted, timeout_ms))
        fail_msg("master %u votes, or is not out for %s: %s", i + 1, reason, show(port)->body);
}

void masters_wait_all_active(uint16_t port, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        masters_wait(port, i, "active", NULL);
}

void masters_detail(uint16_t port, unsigned i, char *ret_detail, size_t cap)
{
    const json_t *masters = json_object_get(show(port)->json, "masters");
    const json_t *detail = json_object_get(json_array_get(masters, i), "detail");
    snprintf(ret_detail, cap, "%s", json_is_string(detail) ? json_string_value(detail) : "");
}

int64_t masters_back_in_ms(uint16_t port, unsigned i)
{
    const json_t *masters = json_object_get(show(port)->json, "masters");
    const json_t *back = json_object_get(json_array_get(masters, i), "back_in_ms");
    assert_true(json_is_integer(back) || json_is_null(back));
    return json_is_null(back) ? -1 : json_integer_value(back);
}

int64_t masters_active(uint16_t port)
{
    return http_integer(show(port), "active");
}

bool masters_is_marked(unsigned i)
{
    redisReply *reply = redis_fleet_command(fleet, i, "HMGET pawl:fleet state next");
    const char *state = reply->element[0]->str, *next = reply->element[1]->str;
    const bool marked = state && strcmp(state, "active") == 0 && !next;
    freeReplyObject(reply);
    return marked;
}

static bool is_marked(void *arg)
{
    const unsigned *i = arg;
    return masters_is_marked(*i);
}

void masters_wait_marked(unsigned i, unsigned timeout_ms)
{
    if (!wait_until(is_marked, &i, timeout_ms))
        fail_msg("master %u is not taken back within %u ms", i + 1, timeout_ms);
}
