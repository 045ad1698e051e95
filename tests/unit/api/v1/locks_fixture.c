#include "tests/unit/api/v1/locks_fixture.h"

#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <stdio.h>
#include <string.h>

struct locks_fixture locks;

bool locks_answer_seen(void)
{
    const bool left = api_request_client_left(api_request_of_client(locks.seen.client));
    struct fence_answer answer = locks.next;
    answer.kind = locks.seen.kind;
    if (answer.kind == FENCE_CALL_ACQUIRE)
        answer.acquire.group = locks.seen.group ? &locks.group : NULL;
    answer.client = locks.seen.client;
    answer.resource = locks.resource;
    answer.lock_id = locks.lock_id;
    api_locks_answer(&answer, left);
    return !left;
}

static void take_call(void *context, const struct fence_call *call)
{
    (void)context;
    locks.calls++;
    locks.seen = *call;
    (void)snprintf(locks.resource, sizeof(locks.resource), "%s", call->resource);
    (void)snprintf(locks.lock_id, sizeof(locks.lock_id), "%s", call->lock_id);
    (void)snprintf(locks.owner, sizeof(locks.owner), "%s", call->owner);

    if (call->group)
        locks.group = *call->group;
    for (unsigned k = 0; call->group && k < call->group->count; k++)
        locks.group.locks[k].token = 100 + k;

    if (!locks.parks)
        (void)locks_answer_seen();
}

static void new_lock_id(void *context, char ret[static FENCE_LOCK_ID_LEN + 1])
{
    (void)context;
    memcpy(ret, LOCK_ID, FENCE_LOCK_ID_LEN + 1);
}

static struct api_routes routes;

int locks_begin(void **state)
{
    (void)state;
    memset(&locks, 0, sizeof(locks)); /* no fleet is known yet */
    locks.backend =
        (struct api_backend){.call = take_call, .fleet = &locks.fleet, .new_lock_id = new_lock_id};
    locks.next = (struct fence_answer){
        .lease.extensions_left = 999,
        .owner = "w-1",
        .token = 34,
        .lease.ttl_ms = 30000,
        .lease.validity_ms = 29687,
        .served_us = 2999,
        .remaining_ms = 1001,
        .lease.granted = 3,
        .total = 3,
        .lease.ttl_max_ms = 300000,
        .parts = {FENCE_PART_GRANTED, FENCE_PART_DOWN, FENCE_PART_TIMEOUT},
    };
    routes = api_locks_routes(&locks.backend);
    loop_begin(loop_serve(&routes, 0));
    return 0;
}

const char *locks_request(const char *method, const char *resource, const char *lines,
                          const char *body)
{
    static char text[1024];
    (void)snprintf(text, sizeof(text),
                   "%s /v1/locks/%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n%s",
                   method, resource, lines, strlen(body), body);
    return text;
}

const char *locks_request_several(const char *body)
{
    static char text[2048];
    (void)snprintf(text, sizeof(text),
                   "POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    return text;
}

const char *locks_request_seat(const char *body)
{
    static char text[2048];
    (void)snprintf(text, sizeof(text),
                   "POST /v1/semaphores/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                   "%zu\r\n\r\n%s",
                   strlen(body), body);
    return text;
}

void locks_assert_refused(const char *text, const char *word)
{
    assert_int_equal(loop_ask(text), 400);
    assert_int_equal(locks.calls, 0);
    assert_said(word);
}
