#include "tests/system/forgetting/forgetting.h"

#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    PAST_TIMES = 3,  /* grants of "past" that the lagging masters miss */
    CONTENDERS = 3,  /* tries to get "held", one after the other */
    CONTEND_MS = 50, /* between them */
    HANG_MS = 3000,  /* of a master that cannot be stopped */
    PATIENCE_MS = 10000,
    REFUSED_MS = 12 * FLEET_PROBE_MS, /* after so long a refusal is taken for one, where nothing is
                                       * under way with any master */
    PAUSE_MS = 25,                    /* between looks */
    NOTES_MAX = 512,
};

#define HELD      "forgetting/held"
#define PAST      "forgetting/past"
#define WORK      "forgetting/work"
#define FOR_LONG  "{\"ttl_ms\":60000}"
#define FOR_SHORT "{\"ttl_ms\":1000}"

static unsigned majority(void)
{
    return fleet->n / 2 + 1;
}

/* All of it is told, not the first thing alone. */
static char notes[NOTES_MAX];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    const size_t len = strlen(notes);
    va_list args;
    va_start(args, format);
    vsnprintf(notes + len, sizeof(notes) - len, format, args);
    va_end(args);
}

static void tell(void)
{
    if (notes[0])
        fail_msg("%s", notes);
}

/* One grant of "past", given back; 0 if there was none. */
static int64_t count_past(const struct forgetting *forgetting)
{
    const struct http_response *response = call_acquire_once(forgetting->port, PAST, FOR_SHORT);
    if (response->status != 201)
        return 0;
    const struct grant grant = grant_of(response);
    call_release(forgetting->port, PAST, &grant);
    return grant.token;
}

static void note_past(const struct forgetting *forgetting, int64_t token)
{
    if (token <= forgetting->past)
        note("token %lld of one name after token %lld; ", (long long)token,
             (long long)forgetting->past);
}

/* True if somebody holds "held" beside its holder. */
static bool contend(const struct forgetting *forgetting)
{
    const struct http_response *response = call_acquire_once(forgetting->port, HELD, FOR_SHORT);
    if (response->status != 201)
        return false;
    const struct grant second = grant_of(response);
    if (!forgetting->granted) {
        call_release(forgetting->port, HELD, &second);
        return false;
    }
    const int64_t left_ms =
        forgetting->held.validity_ms - (int64_t)(wait_now_ms() - forgetting->granted_ms);
    if (left_ms > 0)
        note("two holders at once: token %lld was granted beside token %lld; ",
             (long long)second.token, (long long)forgetting->held.token);
    return left_ms > 0;
}

void forgetting_contend(const struct forgetting *forgetting)
{
    notes[0] = '\0';
    contend(forgetting);
    tell();
}

void forgetting_work(const struct forgetting *forgetting)
{
    const struct http_response *response = call_acquire_once(forgetting->port, WORK, FOR_SHORT);
    if (response->status != 201)
        return;
    const struct grant grant = grant_of(response);
    call_release(forgetting->port, WORK, &grant);
}

bool forgetting_wait_active(const struct forgetting *forgetting, unsigned i)
{
    const uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
    while (!masters_is(forgetting->port, i, "active", NULL)) {
        if (wait_now_ms() >= end_ms) {
            note("master %u is not active after %d ms; ", i + 1, PATIENCE_MS);
            return false;
        }
        forgetting_work(forgetting);
        wait_ms(PAUSE_MS);
    }
    return true;
}

void forgetting_wait_noticed(const struct forgetting *forgetting, unsigned i)
{
    const uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
    for (bool noticed = false; !noticed;) {
        redisReply *info = redis_fleet_command(fleet, i, "INFO replication");
        redisReply *marked = redis_fleet_command(fleet, i, "HGET pawl:fleet lineage");
        const char *id = strstr(info->str, "master_replid:");
        noticed = id && marked->type == REDIS_REPLY_STRING &&
                  strncmp(id + strlen("master_replid:"), marked->str, FENCE_ID_HEX_LEN) == 0;
        freeReplyObject(info);
        freeReplyObject(marked);
        if (!noticed && wait_now_ms() >= end_ms)
            fail_msg("the new replication id of master %u is not noticed", i + 1);
        forgetting_work(forgetting);
        wait_ms(PAUSE_MS);
    }
    assert_true(forgetting_wait_active(forgetting, i));
}

struct forgetting forgetting_serve(void)
{
    const struct pawl_service service = fleet_init_and_serve(FORGETTING_TTL_MAX_MS);
    struct forgetting forgetting = forgetting_attach(service.port);
    forgetting.process = service.process;
    return forgetting;
}

struct forgetting forgetting_attach(uint16_t port)
{
    notes[0] = '\0';
    struct forgetting forgetting = {.port = port};
    const struct grant grant = call_grant(forgetting.port, PAST, FOR_SHORT);
    forgetting.past = grant.token;
    call_give_back(forgetting.port, PAST, &grant);
    return forgetting;
}

/* A request that was sent to a master before it was found silent is served when it wakes. So all
 * that matters comes after it was found. */
static void hang(const struct forgetting *forgetting, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        if (fleet->attached)
            freeReplyObject(redis_fleet_command(fleet, i, "CLIENT PAUSE %d ALL", HANG_MS));
        else if (fleet->master[i].process)
            redis_fleet_pause(fleet, i);
    forgetting_work(forgetting);
    for (unsigned i = from; i < to; i++)
        for (uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
             masters_is(forgetting->port, i, "active", NULL) && wait_now_ms() < end_ms; wait_ms(5))
            forgetting_work(forgetting);
}

/* A master that is nobody's process here answers when its pause has ended. */
static void wake(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        if (fleet->attached)
            fleet_command(i, "PING");
        else if (fleet->master[i].process)
            redis_fleet_resume(fleet, i);
}

bool forgetting_grant_at_all(struct forgetting *forgetting)
{
    for (int i = 0; i < PAST_TIMES; i++) {
        const int64_t token = count_past(forgetting);
        if (token > 0) {
            note_past(forgetting, token);
            forgetting->past = token;
        }
    }
    forgetting->granted_ms = wait_now_ms();
    const struct http_response *response = call_acquire(forgetting->port, HELD, FOR_LONG);
    forgetting->granted = response->status == 201;
    if (forgetting->granted)
        forgetting->held = grant_of(response);
    else
        print_message("not granted: %s\n", response->body);
    return forgetting->granted;
}

bool forgetting_grant(struct forgetting *forgetting)
{
    hang(forgetting, majority(), fleet->n);
    const bool granted = forgetting_grant_at_all(forgetting);
    wake(majority(), fleet->n);
    for (unsigned i = majority(); i < fleet->n; i++)
        masters_wait_within(forgetting->port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
    return granted;
}

struct forgetting forgetting_begin(void)
{
    struct forgetting forgetting = forgetting_serve();
    if (!forgetting_grant(&forgetting))
        fail_msg("no majority granted anything");
    return forgetting;
}

/* A token of "past" by master 0 and the lagging masters. What pawld says of master 0 may be of a
 * moment ago. So this is tried again, with all masters in between. */
static void count_past_without_the_others(const struct forgetting *forgetting)
{
    int64_t token = 0;
    const uint64_t began_ms = wait_now_ms();
    while (token == 0 && wait_now_ms() - began_ms < PATIENCE_MS) {
        hang(forgetting, 1, majority());
        token = count_past(forgetting);
        wake(1, majority());
        for (unsigned i = 1; i < majority(); i++)
            if (redis_fleet_runs(fleet, i))
                forgetting_wait_active(forgetting, i);
    }
    if (token == 0)
        note("master 1 and the lagging ones grant nothing; ");
    else
        note_past(forgetting, token);
}

static void release_held(const struct forgetting *forgetting)
{
    call_give_back(forgetting->port, HELD, &forgetting->held);
    const struct grant next = call_grant(forgetting->port, HELD, FOR_SHORT);
    assert_true(next.token > forgetting->held.token);
    call_give_back(forgetting->port, HELD, &next);
}

void forgetting_judge(const struct forgetting *forgetting)
{
    notes[0] = '\0';
    bool second = contend(forgetting); /* at once, before anybody looked */
    forgetting_work(forgetting);
    const bool back = forgetting_wait_active(forgetting, 0);
    for (int i = 0; i < CONTENDERS && !second; i++, wait_ms(CONTEND_MS))
        second = contend(forgetting);
    if (back)
        count_past_without_the_others(forgetting);
    tell();
    if (forgetting->granted && redis_fleet_runs(fleet, 1))
        release_held(forgetting);
}

struct asking {
    const struct forgetting *forgetting;
    bool may_refuse;
    bool granted;
    uint64_t settled_ms; /* since when nothing is under way with any master; 0: something is */
};

/* Something is granted, or will not be. */
static bool is_decided(void *arg)
{
    struct asking *asking = arg;
    const struct forgetting *forgetting = asking->forgetting;
    const int64_t token = count_past(forgetting);
    asking->granted = token > 0;
    if (asking->granted)
        note_past(forgetting, token);
    if (!masters_are_settled(forgetting->port))
        asking->settled_ms = 0;
    else if (asking->settled_ms == 0)
        asking->settled_ms = wait_now_ms();
    return asking->granted || (asking->may_refuse && asking->settled_ms > 0 &&
                               wait_now_ms() - asking->settled_ms > REFUSED_MS);
}

void forgetting_judge_all(const struct forgetting *forgetting, bool may_refuse)
{
    notes[0] = '\0';
    struct asking asking = {.forgetting = forgetting, .may_refuse = may_refuse};
    (void)wait_until(is_decided, &asking, PATIENCE_MS);
    if (!asking.granted) {
        const int ready = call(forgetting->port, "GET", "/readyz", NULL, NULL)->status;
        if (!may_refuse || ready != 503)
            note("nothing is granted, and /readyz is %d; ", ready);
    }
    contend(forgetting);
    tell();
}

struct redis_fleet *forgetting_copy;

void forgetting_copy_master(void)
{
    forgetting_copy = redis_fleet_new(1, REDIS_ALWAYS);
    redis_follow(forgetting_copy, 0, fleet, 0);
    redis_wait_rewritten(forgetting_copy, 0);
    freeReplyObject(redis_fleet_command(forgetting_copy, 0, "REPLICAOF NO ONE"));
}

int forgetting_teardown(void **state)
{
    redis_fleet_free(forgetting_copy);
    forgetting_copy = NULL;
    return fleet_teardown(state);
}
