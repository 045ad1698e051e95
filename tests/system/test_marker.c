/* Single fields of Pawl's hash on one of three masters that somebody deletes, or overwrites. The
 * master ends as one that votes and is whole, or in a state whose words say what to do. Tokens stay
 * in order all the while. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    VICTIM = 1,
    TIMEOUT_MS = 20000,
    DETAIL_MAX = 1024,
    STEADY_ROUNDS = 8, /* more than a probe takes */
};

enum ending {
    TAKEN_BACK, /* it is admitted again, and imports what the others hold */
    MENDED,     /* it votes, and the field is as Pawl writes it */
    KEPT,       /* it votes on: the field says nothing there */
    REFUSED,    /* the words say to wipe it, and then it rejoins */
};

struct harm {
    const char *field;
    const char *value; /* NULL: the field is deleted */
    enum ending ending;
};

#define RUBBISH "rubbish"

static const struct harm harms[] = {
    {"fleet", NULL, TAKEN_BACK},
    {"fleet", RUBBISH, REFUSED},
    {"member", NULL, TAKEN_BACK},
    {"member", RUBBISH, TAKEN_BACK},
    {"run", NULL, TAKEN_BACK},
    {"run", RUBBISH, KEPT}, /* taken for a restart at the next connection */
    {"max_ttl_ms", NULL, TAKEN_BACK},
    {"max_ttl_ms", RUBBISH, TAKEN_BACK},
    {"max_ttl_ms", "7777", REFUSED},
    {"durable", NULL, TAKEN_BACK},
    {"durable", RUBBISH, TAKEN_BACK},
    {"state", NULL, TAKEN_BACK},
    {"state", RUBBISH, TAKEN_BACK},
    {"view", NULL, TAKEN_BACK},
    {"view", RUBBISH, TAKEN_BACK},
    {"view", "1", TAKEN_BACK},
    {"lineage", NULL, TAKEN_BACK},
    {"lineage", RUBBISH, TAKEN_BACK},
    {"sets", NULL, MENDED},
    {"sets", RUBBISH, MENDED},
    {"bytes", NULL, MENDED},
    {"bytes", RUBBISH, TAKEN_BACK},
    {"answers", NULL, MENDED},
    {"answers", RUBBISH, MENDED},
    {"max_extensions", NULL, KEPT},
    {"max_extensions", RUBBISH, TAKEN_BACK},
    {"next", RUBBISH, TAKEN_BACK},
    {"progress", RUBBISH, TAKEN_BACK},
    {"init", RUBBISH, TAKEN_BACK},
    {"closed", RUBBISH, TAKEN_BACK},
    {"floor", RUBBISH, TAKEN_BACK},
    {"names", NULL, KEPT},
    {"names", RUBBISH, TAKEN_BACK},
    {"unswept", RUBBISH, MENDED},
    {"doubt", RUBBISH, KEPT},
    {"intact", RUBBISH, KEPT},
    {"probed", NULL, KEPT},
    {"probed", RUBBISH, MENDED},
    {"probe", NULL, KEPT},
    {"note", NULL, KEPT},
    {"writes", NULL, TAKEN_BACK}, /* its position falls */
    {"writes", RUBBISH, TAKEN_BACK},
    {"positions", NULL, MENDED},
    {"positions", RUBBISH, MENDED},
};

static struct pawl_service service;
static int64_t last_token, last_value;

/* Takes a lock and a value of a counter, where a majority can be had, and both rise. */
static void expect_order(void)
{
    const struct http_response *response = call_acquire(service.port, "ordered", NULL);
    assert_int_equal(response->status, 201);
    const struct grant grant = grant_of(response);
    assert_true(grant.token > last_token);
    last_token = grant.token;
    call_give_back(service.port, "ordered", &grant);
    response = call_count(service.port, "counted", NULL);
    assert_int_equal(response->status, 200);
    assert_true(http_integer(response, "value") > last_value);
    last_value = http_integer(response, "value");
}

/* The field as it is now, "" where it is not there. Static, until the next call. */
static const char *read_field(const char *field)
{
    static char text[DETAIL_MAX];
    redisReply *reply = redis_fleet_command(fleet, VICTIM, "HGET pawl:fleet %s", field);
    (void)snprintf(text, sizeof(text), "%s", reply->str ? reply->str : "");
    freeReplyObject(reply);
    return text;
}

/* Its own number in its view; 0 where none is to be read. */
static long long incarnation(void)
{
    const char *at = read_field("view");
    for (unsigned i = 0; i < VICTIM && at != NULL; i++)
        at = (at = strchr(at, ',')) ? at + 1 : NULL;
    return at ? strtoll(at, NULL, 10) : 0;
}

struct before {
    const struct harm *harm;
    long long incarnation;
};

static bool is_over(void *arg)
{
    const struct before *before = arg;
    const struct harm *harm = before->harm;
    const char *now = read_field(harm->field);
    expect_order();
    switch (harm->ending) {
    case REFUSED:
        return masters_is(service.port, VICTIM, "refused", NULL) ||
               masters_is(service.port, VICTIM, "refused", "other-ttl") ||
               masters_is(service.port, VICTIM, "refused", "other-fleet");
    case TAKEN_BACK:
        return incarnation() > before->incarnation &&
               masters_is(service.port, VICTIM, "active", NULL);
    case MENDED:
        return strcmp(now, harm->value ? harm->value : "") != 0 &&
               masters_is(service.port, VICTIM, "active", NULL);
    case KEPT:
        return masters_is(service.port, VICTIM, "active", NULL);
    }
    return false;
}

static void do_harm(const struct harm *harm)
{
    if (harm->value)
        freeReplyObject(
            redis_fleet_command(fleet, VICTIM, "HSET pawl:fleet %s %s", harm->field, harm->value));
    else
        freeReplyObject(redis_fleet_command(fleet, VICTIM, "HDEL pawl:fleet %s", harm->field));
}

static unsigned failures;

/* The texts that an operator reads there, and does. */
static void follow_the_words(void)
{
    char detail[2 * DETAIL_MAX];
    masters_detail(service.port, VICTIM, detail, sizeof(detail));
    const json_t *masters =
        json_object_get(call(service.port, "GET", "/v1/fleet", NULL, NULL)->json, "masters");
    const char *failure =
        json_string_value(json_object_get(json_array_get(masters, VICTIM), "last_failure"));
    (void)snprintf(detail + strlen(detail), DETAIL_MAX, " %s", failure ? failure : "");
    if (!strstr(detail, "FLUSHALL") && !strstr(detail, "DEL pawl:fleet")) {
        print_message("no command is named: %s\n", detail);
        failures++;
    }
    fleet_command(VICTIM, strstr(detail, "DEL pawl:fleet") ? "DEL pawl:fleet" : "FLUSHALL");
    masters_wait_within(service.port, VICTIM, "active", NULL, TIMEOUT_MS);
}

static void suffer(const struct harm *harm)
{
    struct before before = {harm, incarnation()};
    assert_true(before.incarnation > 0);
    do_harm(harm);
    if (!wait_until(is_over, &before, TIMEOUT_MS)) {
        char detail[DETAIL_MAX];
        masters_detail(service.port, VICTIM, detail, sizeof(detail));
        print_message("%s %s: field now \"%s\": %s\n", harm->field,
                      harm->value ? harm->value : "deleted", read_field(harm->field), detail);
        failures++;
        fleet_command(VICTIM, "FLUSHALL");
        masters_wait_within(service.port, VICTIM, "active", NULL, TIMEOUT_MS);
    } else if (harm->ending == REFUSED) {
        follow_the_words();
    }
    for (unsigned i = 0; i < STEADY_ROUNDS; i++, wait_ms(FLEET_PROBE_MS / 4))
        expect_order();
    masters_wait_within(service.port, VICTIM, "active", NULL, TIMEOUT_MS);
}

static void start(void)
{
    last_token = 0;
    last_value = 0;
    failures = 0;
    service = fleet_init_and_serve(300000);
}

static void suffer_all(void **state)
{
    start();
    for (size_t k = 0; k < sizeof(harms) / sizeof(harms[0]); k++)
        suffer(&harms[k]);
    assert_int_equal(failures, 0);
}

static void key_of_another_type_says_what_to_do(void **state)
{
    static const char *const commands[] = {"SET pawl:fleet rubbish", "LPUSH pawl:fleet rubbish"};
    start();
    for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
        fleet_command(VICTIM, "DEL pawl:fleet");
        fleet_command(VICTIM, commands[k]);
        expect_order();
        masters_wait_within(service.port, VICTIM, "down", "error", TIMEOUT_MS);
        follow_the_words();
        expect_order();
    }
    assert_int_equal(failures, 0);
}

/* A value that one master missed is at the two others. One of these does not know how many names it
 * has, and the third is wiped: it has to be told the value anyway. */
static void names_are_handed_over_whatever_is_said_of_their_number(void **state)
{
    start();
    service = fleet_serve_all();
    for (unsigned k = 0; k < 10; k++)
        expect_order();
    const int64_t value = last_value;
    for (unsigned i = 0; i < MASTERS; i++)
        (void)redis_fleet_integer(fleet, i, "HSET pawl:fleet n:counted %lld",
                                  (long long)(i == 1 ? value - 1 : value));
    fleet_command(0, "HDEL pawl:fleet names");
    fleet_command(2, "FLUSHALL");
    masters_wait_marked(2, TIMEOUT_MS);
    redisReply *reply = redis_fleet_command(fleet, 2, "HGET pawl:fleet n:counted");
    assert_non_null(reply->str);
    assert_true(strtoll(reply->str, NULL, 10) >= value);
    freeReplyObject(reply);
    expect_order();
}

static const struct CMUnitTest cases[] = {
    FLEET_ROW("master_with_a_field_by_hand_is_whole_again_or_says_what_to_do", suffer_all, MASTERS,
              REDIS_VOLATILE, NULL),
    FLEET_ROW("durable_master_with_a_field_by_hand_is_whole_again_or_says_what_to_do", suffer_all,
              MASTERS, REDIS_ALWAYS, NULL),
    FLEET_CASE(names_are_handed_over_whatever_is_said_of_their_number, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(key_of_another_type_says_what_to_do, MASTERS, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
