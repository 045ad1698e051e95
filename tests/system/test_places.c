/* A waiter whose client asks again, with the same lock id, keeps its place. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/line.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    WAITERS = 20,
    CLIENTS = 8,
    LATE = CLIENTS / 2,      /* so many are late after the restart: those that came first */
    SHORTEST_WAIT_MS = 2500, /* for the last to come; each before it waits longer */
    WAIT_STEP_MS = 50,
    LONG_WAIT_MS = 20000,
    APART_MS = 20,   /* from one client to the next, at least */
    NOTICE_MS = 500, /* until clients have noticed that pawld is gone */
    LINE_TIMEOUT_MS = 5000,
    END_TIMEOUT_MS = 20000,
    MOVES = 4,
    TEXT_BYTES = 512,
};

static struct pawl_service pawld, other;

/* Each pawld listens to each master, so it hears the word of a place. */
static bool both_listen(void *arg)
{
    for (unsigned i = 0; i < MASTERS; i++) {
        redisReply *reply = redis_fleet_command(fleet, i, "PUBSUB NUMSUB pawl:freed");
        const bool both = reply->elements == 2 && reply->element[1]->integer == 2;
        freeReplyObject(reply);
        if (!both)
            return false;
    }
    return true;
}

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    pawld = pawld_start_new(fleet);
    other = pawld_start(fleet, NULL);
    pawl_wait_ready(other);
    return wait_until(both_listen, NULL, LINE_TIMEOUT_MS) ? 0 : -1;
}

/* Waiter @i asks for @resource at the pawld on @port. */
static struct http *ask_at(uint16_t port, const char *resource, int i, unsigned wait_ms)
{
    char path[TEXT_BYTES], body[TEXT_BYTES];
    snprintf(path, sizeof(path), "/v1/locks/%s", resource);
    snprintf(body, sizeof(body), "{\"wait_ms\": %u, \"lock_id\": \"own-lock-id-of-waiter-%03d\"}",
             wait_ms, i);
    return call_begin(port, "POST", path, body);
}

static struct http *ask(const char *resource, int i, unsigned wait_ms)
{
    return ask_at(pawld.port, resource, i, wait_ms);
}

/* The same, and it stands in the line, which is @length long then. */
static struct http *ask_in_line(const char *resource, int i, unsigned wait_ms, int64_t length)
{
    struct http *http = ask(resource, i, wait_ms);
    assert_true(line_becomes(pawld.port, resource, length, LINE_TIMEOUT_MS));
    return http;
}

/* The grant of the call of waiter @i. */
static struct grant granted(struct http *http, int i)
{
    const struct http_response *response = call_end(http);
    struct grant grant = {.token = 0};
    assert_int_equal(response->status, 201);
    grant.token = http_integer(response, "token");
    snprintf(grant.lock_id, sizeof(grant.lock_id), "own-lock-id-of-waiter-%03d", i);
    return grant;
}

/* The wait of each ends before that of all who came before it. So they ask again in the opposite
 * order. */
static void waiters_that_ask_anew_are_served_in_the_order_in_which_they_came(void **state)
{
    struct http *line[WAITERS];
    struct grant holder = call_grant(pawld.port, "anew", "{\"ttl_ms\": 60000}");
    for (int i = 0; i < WAITERS; i++)
        line[i] = ask_in_line("anew", i,
                              SHORTEST_WAIT_MS + WAIT_STEP_MS * (unsigned)(WAITERS - 1 - i), i + 1);
    for (int i = WAITERS; i-- > 0;) {
        EXPECT_PROBLEM(call_end(line[i]), 409, "wait-timeout", 3);
        line[i] = ask("anew", i, LONG_WAIT_MS);
    }
    assert_true(line_becomes(pawld.port, "anew", WAITERS, LINE_TIMEOUT_MS));
    for (int i = 0; i < WAITERS; i++) {
        call_give_back(pawld.port, "anew", &holder);
        holder = granted(line[i], i);
    }
    call_give_back(pawld.port, "anew", &holder);
}

static void waiter_that_is_away_delays_nobody_and_keeps_its_place(void **state)
{
    struct http *line[3];
    struct grant holder = call_grant(pawld.port, "away", "{\"ttl_ms\": 60000}");
    for (int i = 0; i < 3; i++)
        line[i] = ask_in_line("away", i, LONG_WAIT_MS, i + 1);
    http_close(line[0]);
    assert_true(line_becomes(pawld.port, "away", 2, LINE_TIMEOUT_MS));
    const uint64_t released_ms = wait_now_ms();
    call_give_back(pawld.port, "away", &holder);
    holder = granted(line[1], 1);
    assert_in_range(wait_now_ms() - released_ms, 0, FENCE_PLACE_KEPT_US / 1000 / 2);
    line[0] = ask_in_line("away", 0, LONG_WAIT_MS, 2);
    call_give_back(pawld.port, "away", &holder);
    holder = granted(line[0], 0);
    call_give_back(pawld.port, "away", &holder);
    holder = granted(line[2], 2);
    call_give_back(pawld.port, "away", &holder);
}

/* The same at the pawld on @port, for long. */
static struct http *ask_in_line_at(uint16_t port, const char *resource, int i, int64_t length)
{
    struct http *http = ask_at(port, resource, i, LONG_WAIT_MS);
    assert_true(line_becomes(port, resource, length, LINE_TIMEOUT_MS));
    return http;
}

/* How often each master has published. */
static void read_published(long long ret_calls[static MASTERS])
{
    static const char begin[] = "cmdstat_publish:calls=";
    for (unsigned i = 0; i < MASTERS; i++) {
        redisReply *reply = redis_fleet_command(fleet, i, "INFO commandstats");
        const char *found = strstr(reply->str, begin);
        ret_calls[i] = found ? strtoll(found + sizeof(begin) - 1, NULL, 10) : 0;
        freeReplyObject(reply);
    }
}

static bool all_published(void *arg)
{
    const long long *before = arg;
    long long now[MASTERS];
    read_published(now);
    for (unsigned i = 0; i < MASTERS; i++)
        if (now[i] == before[i])
            return false;
    return true;
}

/* Waiter @i leaves, and asks the other pawld: at once, which may be before the word of its place,
 * or after it. Returns once the other pawld has heard the word: the masters have published it, and
 * have answered that pawld since. */
static struct http *move(struct http *http, const char *resource, int i, bool at_once,
                         int64_t length)
{
    long long published[MASTERS];
    struct http *moved = NULL;
    read_published(published);
    http_close(http);
    if (at_once)
        moved = ask_in_line_at(other.port, resource, i, length);
    assert_true(line_becomes(pawld.port, resource, 0, LINE_TIMEOUT_MS));
    assert_true(wait_until(all_published, published, LINE_TIMEOUT_MS));
    (void)line_length(other.port, resource);
    return moved ? moved : ask_in_line_at(other.port, resource, i, length);
}

/* Waiters in the order in which they stand. */
struct line {
    struct http *http[WAITERS];
    int id[WAITERS];
    unsigned count;
};

/* Which of @line is answered next. */
static unsigned next_answered(const struct line *line)
{
    struct pollfd fds[WAITERS];
    for (unsigned k = 0; k < line->count; k++)
        fds[k] = (struct pollfd){.fd = http_fd(line->http[k]), .events = POLLIN};
    assert_true(poll(fds, line->count, LONG_WAIT_MS) > 0);
    unsigned next = 0;
    while (fds[next].revents == 0)
        next++;
    return next;
}

/* @holder releases @resource, and the next of @line has it then. Returns how many of @line stood
 * before that one. */
static unsigned hand_on(const char *resource, struct grant *holder, struct line *line)
{
    call_give_back(pawld.port, resource, holder);
    const unsigned next = next_answered(line);
    *holder = granted(line->http[next], line->id[next]);
    line->count--;
    for (unsigned k = next; k < line->count; k++) {
        line->http[k] = line->http[k + 1];
        line->id[k] = line->id[k + 1];
    }
    return next;
}

/* All came during one grant. The other pawld may be asking for its second waiter just then: so that
 * one may be served before the waiter that moved, but seldom. */
static void waiter_that_asks_another_pawld_stands_before_those_that_came_later(void **state)
{
    unsigned overtaken = 0;
    for (int i = 0; i < MOVES * 3; i += 3) { /* a lock id serves once */
        struct grant holder = call_grant(pawld.port, "moved", "{\"ttl_ms\": 60000}");
        struct line line = {.id = {i, i + 1, i + 2}, .count = 3};
        line.http[0] = ask_in_line("moved", i, LONG_WAIT_MS, 1);
        line.http[1] = ask_in_line_at(other.port, "moved", i + 1, 1);
        line.http[2] = ask_in_line_at(other.port, "moved", i + 2, 2);
        assert_int_equal(line_length(pawld.port, "moved"), 1); /* the masters answered the first */
        line.http[0] = move(line.http[0], "moved", i, i % 2 == 0, 3);
        overtaken += hand_on("moved", &holder, &line);
        assert_int_equal(hand_on("moved", &holder, &line), 0);
        assert_int_equal(hand_on("moved", &holder, &line), 0);
        call_give_back(pawld.port, "moved", &holder);
    }
    assert_in_range(overtaken, 0, MOVES / 2);
}

/* pawl with a command that notes that client @i had the lock. */
static struct process *start_client(const char *pawl, const char *notes, int i)
{
    char server[TEXT_BYTES], command[2 * TEXT_BYTES], log[TEXT_BYTES];
    snprintf(server, sizeof(server), "http://127.0.0.1:%u", (unsigned)pawld.port);
    snprintf(command, sizeof(command), "echo %d >>%s", i, notes);
    snprintf(log, sizeof(log), "%s/client.%d.log", fleet->dir, i);
    const char *const argv[] = {pawl, "--server", server, "lock",  "restart",
                                "--", "sh",       "-c",   command, NULL};
    return process_start(argv, log);
}

/* Those that came first have lost their connection, and are stopped until the others are back. */
static void restart(struct process *const *clients)
{
    process_kill(pawld.process);
    wait_ms(NOTICE_MS);
    for (int i = 0; i < LATE; i++)
        process_signal(clients[i], SIGSTOP);
    pawld = pawld_start_on(fleet, pawld.port, NULL);
    pawl_wait_ready(pawld);
    assert_true(line_becomes(pawld.port, "restart", CLIENTS - LATE, LINE_TIMEOUT_MS));
    for (int i = 0; i < LATE; i++)
        process_signal(clients[i], SIGCONT);
    assert_true(line_becomes(pawld.port, "restart", CLIENTS, LINE_TIMEOUT_MS));
}

static void clients_of_a_restarted_pawld_are_served_in_the_order_in_which_they_came(void **state)
{
    struct process *clients[CLIENTS];
    char *pawl = pawl_program("pawl"), notes[TEXT_BYTES], expected[TEXT_BYTES] = "";
    snprintf(notes, sizeof(notes), "%s/notes", fleet->dir);
    struct grant holder = call_grant(pawld.port, "restart", "{\"ttl_ms\": 60000}");
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = start_client(pawl, notes, i);
        assert_true(line_becomes(pawld.port, "restart", i + 1, LINE_TIMEOUT_MS));
        wait_ms(APART_MS);
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%d\n", i);
    }
    restart(clients);
    call_give_back(pawld.port, "restart", &holder);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(process_wait(clients[i], END_TIMEOUT_MS), 0);
    char *served = text_read(notes, 0);
    assert_string_equal(served, expected);
    free(served);
    free(pawl);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(waiters_that_ask_anew_are_served_in_the_order_in_which_they_came),
    cmocka_unit_test(waiter_that_is_away_delays_nobody_and_keeps_its_place),
    cmocka_unit_test(waiter_that_asks_another_pawld_stands_before_those_that_came_later),
    cmocka_unit_test(clients_of_a_restarted_pawld_are_served_in_the_order_in_which_they_came),
};

CASE_MAIN(cases, start, fleet_teardown)
