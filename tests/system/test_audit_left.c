/* The words of the audit log about clients that leave just when their grant comes. */
#include "fence/protocol/limits.h"
#include "fence/protocol/name.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS = 300,
    EXTENSIONS = 200,
    PATH_BYTES = 256,
    NAME_BYTES = 64,
    BODY_BYTES = 2048,
    PARKED_US = 20000,   /* the request of a waiter is suspended by then, usually */
    LEAVE_US_MAX = 1500, /* after the request that brings the answer */
    LEAVE_STEP_US = 377, /* from round to round, so that every moment comes */
};

static struct pawl_service service;
static char path[PATH_BYTES];

static void start(void)
{
    (void)snprintf(path, sizeof(path), "%s/audit.log", fleet->dir);
    pawl_init_new(fleet);
    service = pawld_start(fleet, (const char *const[]){"--audit-log", path, FLEET_ASK_ALL, NULL});
    pawl_wait_ready(service);
}

/* The token under which the lock @name is held; 0: no caller holds it. -1: somebody
 * does, and masters differ about the token. */
static int64_t token_held(const char *name)
{
    const struct http_response *response = call_inspect(service.port, name);
    assert_int_equal(response->status, 200);
    const json_t *token = json_object_get(response->json, "token");
    if (!http_boolean(response, "held"))
        return 0;
    return json_is_integer(token) ? json_integer_value(token) : -1;
}

/* The lines of the log. The service has ended, so all are written. */
static json_t *end_and_read(void)
{
    json_t *lines = json_array();
    assert_int_equal(process_stop(service.process), 0);
    char *text = text_read(path, 0);
    for (char *rest = text, *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n"))
        (void)json_array_append_new(lines, json_loads(line, 0, NULL));
    free(text);
    return lines;
}

/* How many lines say @event of the lock @name. @ret_last: the token of the last one, if any. */
static unsigned count_told(const json_t *lines, const char *event, const char *name,
                           int64_t *ret_last)
{
    unsigned count = 0;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        if (strcmp(json_string_value(json_object_get(line, "event")), event) != 0 ||
            strcmp(json_string_value(json_object_get(line, "resource")), name) != 0)
            continue;
        *ret_last = json_integer_value(json_object_get(line, "token"));
        count++;
    }
    return count;
}

/* Sends a request about the lock @name with the headers that its holder owes. */
static struct http *send_as_holder(const char *method, const char *name, const struct grant *holder)
{
    char request[512];
    int len = snprintf(request, sizeof(request),
                       "%s /v1/locks/%s HTTP/1.1\r\nHost: localhost\r\nLock-Id: %s\r\n"
                       "Fencing-Token: %" PRId64 "\r\nContent-Length: 0\r\n\r\n",
                       method, name, holder->lock_id, holder->token);
    struct http *http = http_connect(service.port);
    assert_true(http_send(http, request, (size_t)len));
    return http;
}

/* As many locks as one call may have: as many lines are written for its answer. */
static struct http *wait_for_group(unsigned round)
{
    char body[BODY_BYTES];
    int len =
        snprintf(body, sizeof(body), "{\"wait_ms\": 60000, \"ttl_ms\": 300000, \"resources\": [");
    for (unsigned k = 0; k < FENCE_GROUP_MAX; k++)
        len += snprintf(body + len, sizeof(body) - (size_t)len, "%s\"%u/%u\"", k > 0 ? ", " : "",
                        round, k);
    (void)snprintf(body + len, sizeof(body) - (size_t)len, "]}");
    return call_begin(service.port, "POST", "/v1/locks", body);
}

/* A holder releases the first of the locks of a waiter, and the waiter leaves. */
static void leave_in_round(unsigned round, const char *name)
{
    struct http_response released;
    struct grant holder = call_grant(service.port, name, NULL);
    struct http *waiter = wait_for_group(round);
    usleep(PARKED_US);
    struct http *releaser = send_as_holder("DELETE", name, &holder);
    usleep(round * LEAVE_STEP_US % LEAVE_US_MAX);
    http_close(waiter);
    http_receive(releaser, false, &released);
    assert_int_equal(released.status, 200);
    http_response_fini(&released);
    http_close(releaser);
}

/* A grant that is undone never was one. A grant that stands is in the log. */
static void grant_is_told_exactly_where_it_stands(void **state)
{
    static int64_t held[ROUNDS];
    unsigned stood = 0, unanswered = 0;
    char name[NAME_BYTES];
    start();
    for (unsigned round = 0; round < ROUNDS; round++) {
        (void)snprintf(name, sizeof(name), "%u/0", round);
        leave_in_round(round, name);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        (void)snprintf(name, sizeof(name), "%u/0", round);
        held[round] = token_held(name);
        stood += held[round] != 0;
    }
    json_t *lines = end_and_read();
    for (unsigned round = 0; round < ROUNDS; round++) {
        int64_t last = 0, left = 0;
        (void)snprintf(name, sizeof(name), "%u/0", round);
        const unsigned grants = count_told(lines, "grant", name, &last);
        const unsigned expected = held[round] != 0 ? 2 : 1; /* the first is that of the holder */
        if (grants != expected || (held[round] > 0 && last != held[round]))
            fail_msg("%s: held under token %" PRId64 ", and the log tells of %u grants, the last "
                     "with %" PRId64,
                     name, held[round], grants, last);
        unanswered += count_told(lines, "unanswered", name, &left);
    }
    print_message("of %d whose client left, %u stood, and %u were taken back\n", ROUNDS, stood,
                  unanswered);
    json_decref(lines);
}

/* One master lacks the lock and has counted since; another has it under a higher number. So an
 * extension is a new grant. */
static void take_its_majority(const char *name)
{
    static const char renumber[] =
        "local value = redis.call('GET', KEYS[1]) return value and redis.call('SET', KEYS[1], "
        "(string.gsub(value, ':%d+:', ':5:', 1)), 'KEEPTTL')";
    const unsigned slot = fence_slot(name, strlen(name));
    freeReplyObject(redis_fleet_command(fleet, 0, "DEL pawl:lock:%s", name));
    (void)redis_fleet_integer(fleet, 0, "HINCRBY pawl:fleet %u 5", slot);
    freeReplyObject(redis_fleet_command(fleet, 1, "EVAL %s 1 pawl:lock:%s", renumber, name));
}

/* The lock stays, and its holder may extend it again. So each token that it has is in the log. */
static void token_of_an_extension_is_told_once(void **state)
{
    static int64_t held[EXTENSIONS];
    unsigned answered = 0, unanswered = 0;
    char name[NAME_BYTES];
    start();
    for (unsigned round = 0; round < EXTENSIONS; round++) {
        (void)snprintf(name, sizeof(name), "extended/%u", round);
        struct grant holder = call_grant(service.port, name, NULL);
        take_its_majority(name);
        if (round % 2 == 0)
            fleet_command(1, "CLIENT PAUSE 15"); /* so that the request is parked for a while */
        struct http *extender = send_as_holder("PATCH", name, &holder);
        usleep(round * LEAVE_STEP_US % LEAVE_US_MAX);
        http_close(extender);
        held[round] = 0;
    }
    for (unsigned round = 0; round < EXTENSIONS; round++) {
        (void)snprintf(name, sizeof(name), "extended/%u", round);
        held[round] = token_held(name);
    }
    json_t *lines = end_and_read();
    for (unsigned round = 0; round < EXTENSIONS; round++) {
        int64_t granted = 0, told = 0;
        (void)snprintf(name, sizeof(name), "extended/%u", round);
        assert_int_equal(count_told(lines, "grant", name, &granted), 1);
        const unsigned regrants = count_told(lines, "regrant", name, &told);
        const unsigned left = count_told(lines, "unanswered", name, &told);
        if (held[round] > granted && (regrants + left != 1 || told != held[round]))
            fail_msg("%s: held under token %" PRId64
                     ", and the log tells %u and %u times of %" PRId64,
                     name, held[round], regrants, left, told);
        answered += regrants;
        unanswered += left;
    }
    print_message("of %d extensions %u were answered as new grants, %u had no client any more\n",
                  EXTENSIONS, answered, unanswered);
    assert_true(unanswered > 0); /* each second request waits for a master for a while */
    json_decref(lines);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(grant_is_told_exactly_where_it_stands, 3, REDIS_VOLATILE),
    FLEET_CASE(token_of_an_extension_is_told_once, 3, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
