/* A fleet of Redis masters that goes on with others, or with another longest lease. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"
#include "tests/system/moving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALL_MASTERS = 9,
    LEASE_MS = 1000,
    LINES = 4, /* that a move says before it is done */
    KILLS = 32,
    KILL_STEP_MS = 2,
    PAIRS = 6,
    MOVES_NAMES = 4,
    MOVE_TRIES = 4,
    LINE_MS = 20000,
    PATH_BYTES = 512,
    ALL_OF_THREE = 7, /* sets of masters */
    MOST_OF_THREE = 3,
};

#define FAR_FLOOR    "1000000000000" /* 2^32 is 4 thousand millions */
#define HIGHER_FLOOR "2000000000000"
#define LAST_FLOOR   "9007194959773695" /* that the highest token floor leads to */

static const struct moving_masters three = {.n = 3};
static const struct moving_masters five = {.n = 5};               /* those three, and two more */
static const struct moving_masters others = {.first = 3, .n = 3}; /* none of those three */
static const struct moving_masters distant = {.first = 6, .n = 3};

static int64_t last_token[MOVES_NAMES];

static void expect_higher_tokens(uint16_t port)
{
    for (unsigned name = 0; name < MOVES_NAMES; name++) {
        char resource[16];
        snprintf(resource, sizeof(resource), "moved%u", name);
        const struct grant grant = call_grant(port, resource, NULL);
        call_give_back(port, resource, &grant);
        if (grant.token <= last_token[name])
            fail_msg("token %lld after %lld", (long long)grant.token, (long long)last_token[name]);
        last_token[name] = grant.token;
    }
}

/* A fleet of three, that has given out tokens. Its pawld runs on. They are far above what a move
 * adds for safety: a floor that forgets them is found. */
static struct pawl_service use_three(void)
{
    moving_init(&three, "1000");
    for (unsigned i = 0; i < three.n; i++)
        fleet_command(i, "HSET pawl:fleet floor " FAR_FLOOR);
    memset(last_token, 0, sizeof(last_token));
    const struct pawl_service service = moving_serve(&three);
    for (unsigned times = 0; times < 3; times++)
        expect_higher_tokens(service.port);
    return service;
}

/* As the fleet was made, whatever was moved and broken off. */
static void expect_cap(uint16_t port)
{
    const struct http_response *response = call_acquire(port, "capped", NULL);
    assert_int_equal(http_integer(response, "extensions_left"), MOVING_EXTENSIONS);
    const struct grant grant = grant_of(response);
    call_give_back(port, "capped", &grant);
}

static void expect_nothing_granted(uint16_t port)
{
    for (unsigned i = 0; i < 5; i++, wait_ms(20))
        assert_int_equal(call_acquire_once(port, "moved0", NULL)->status, 503);
}

static void serve_and_expect_higher_tokens(const struct moving_masters *masters)
{
    const struct pawl_service service = moving_serve(masters);
    expect_higher_tokens(service.port);
    expect_cap(service.port);
    assert_int_equal(process_stop(service.process), 0);
}

/* All masters get back what their disks had before the last grants, while pawld serves. */
static void put_back_all(uint16_t port)
{
    const struct moving_kept kept = moving_keep(three.n);
    expect_higher_tokens(port);
    moving_put_back(&kept, ALL_OF_THREE);
    for (unsigned i = 0; i < three.n / 2 + 1; i++)
        masters_wait(port, i, "refused", "rolled-back");
}

/* They lack locks that are held, so a move cannot know when these end. */
static void fleet_whose_data_went_back_goes_on_by_a_floor_alone(void **state)
{
    const struct pawl_service before = use_three();
    put_back_all(before.port);
    const struct http_response *ready = call(before.port, "GET", "/readyz", NULL, NULL);
    assert_int_equal(ready->status, 503);
    assert_non_null(strstr(ready->body, "run: pawld init --token-floor T"));
    assert_int_equal(moving_run(&three, &others, NULL), 1);
    moving_expect_said("of 3 masters kept their data, fewer than a majority");
    assert_int_equal(moving_run_init(&three, (const char *const[]){"--token-floor", "9", NULL}), 0);
    expect_higher_tokens(before.port);
}

/* No pawld has served since, so only the third master knows of the floor, or that its fleet was
 * moved. */
static void expect_no_belief_in(const struct moving_kept *kept, const char *reason)
{
    moving_put_back(kept, MOST_OF_THREE);
    const struct pawl_service service = moving_serve_early(&three);
    for (unsigned i = 0; i < three.n / 2 + 1; i++)
        masters_wait(service.port, i, "refused", reason);
    expect_nothing_granted(service.port);
}

static void disks_of_before_a_floor_are_not_believed_by_a_new_pawld(void **state)
{
    assert_int_equal(process_stop(use_three().process), 0);
    const struct moving_kept kept = moving_keep(three.n);
    for (unsigned i = 0; i < three.n / 2 + 1; i++)
        fleet_command(i, "FLUSHALL");
    assert_int_equal(moving_run_init(&three, (const char *const[]){"--token-floor", "9", NULL}), 0);
    expect_no_belief_in(&kept, "rolled-back");
}

static void disks_of_before_a_move_are_not_believed_by_a_new_pawld(void **state)
{
    assert_int_equal(process_stop(use_three().process), 0);
    const struct moving_kept kept = moving_keep(three.n);
    assert_int_equal(moving_run(&three, &others, NULL), 0);
    expect_no_belief_in(&kept, "moved");
    serve_and_expect_higher_tokens(&others);
}

static void wipe(const struct moving_masters *masters)
{
    for (unsigned i = masters->first; i < masters->first + masters->n; i++)
        fleet_command(i, "FLUSHALL");
}

/* It is no failure, and says what to start. */
static void expect_done_before(const struct moving_masters *from, const struct moving_masters *to,
                               const char *const options[])
{
    assert_int_equal(moving_run(from, to, options), 0);
    moving_expect_said("the move is already complete");
    moving_expect_said("Start pawld with them");
}

static void fleet_goes_on_with_more_masters_its_own_among_them(void **state)
{
    const struct pawl_service before = use_three();
    const struct grant held = call_grant(before.port, "held", "{\"ttl_ms\": 1000}");
    const uint64_t held_ms = wait_now_ms();
    assert_int_equal(moving_run(&three, &five, NULL), 0);
    assert_true(wait_now_ms() - held_ms >= (uint64_t)held.validity_ms);
    expect_nothing_granted(before.port);
    masters_wait(before.port, 0, "refused", "other-size");
    assert_int_equal(call_extend(before.port, "held", &held, NULL)->status, 503);
    const struct pawl_service after = moving_serve(&five);
    expect_higher_tokens(after.port);
    assert_true(call_grant(after.port, "held", NULL).token > held.token);
    expect_nothing_granted(before.port);
    expect_done_before(&three, &five, NULL);
    expect_higher_tokens(after.port);
    assert_int_equal(moving_run(&three, &others, NULL), 1);
    moving_expect_said("has 5 masters and not 3");
    assert_int_equal(moving_run(&three, &five, (const char *const[]){"--max-ttl-ms", "2000", NULL}),
                     1);
    expect_higher_tokens(after.port);
}

static void fleet_goes_on_with_other_masters_and_its_own_are_closed(void **state)
{
    const struct pawl_service before = use_three();
    assert_int_equal(moving_run(&three, &others, NULL), 0);
    expect_nothing_granted(before.port);
    masters_wait(before.port, 2, "refused", "moved");
    serve_and_expect_higher_tokens(&others);
    expect_done_before(&three, &others, NULL);
    assert_int_equal(moving_run_init(&three, (const char *const[]){"--new", NULL}), 1);
    moving_expect_said("was moved to other masters");
    assert_int_equal(moving_run_init(&three, (const char *const[]){"--token-floor", "1000", NULL}),
                     1);
    moving_expect_said("was moved to other masters");
    assert_int_equal(moving_run(&three, &distant, NULL), 1);
    moving_expect_said("with the --master options of that move");
    expect_nothing_granted(before.port);
    serve_and_expect_higher_tokens(&others);
}

/* A lock of the old fleet is waited for, whatever the new longest lease is. */
static void expect_wait(uint16_t port, const char *ttl_max_ms, uint64_t lease_ms)
{
    char body[32];
    snprintf(body, sizeof(body), "{\"ttl_ms\": %llu}", (unsigned long long)lease_ms);
    const struct grant held = call_grant(port, "held", body);
    const uint64_t held_ms = wait_now_ms();
    assert_int_equal(
        moving_run(&three, &three, (const char *const[]){"--max-ttl-ms", ttl_max_ms, NULL}), 0);
    assert_true(wait_now_ms() - held_ms >= (uint64_t)held.validity_ms);
}

static void longest_lease_becomes_another_on_the_same_masters(void **state)
{
    const struct pawl_service before = use_three();
    expect_wait(before.port, "200", 1000);
    moving_expect_said("longest lease 200 ms");
    assert_int_equal(process_stop(before.process), 0);
    struct pawl_service service = moving_serve(&three);
    expect_higher_tokens(service.port);
    assert_int_equal(call_acquire_once(service.port, "moved0", "{\"ttl_ms\": 201}")->status, 400);
    const struct grant held = call_grant(service.port, "kept", NULL);
    expect_done_before(&three, &three, (const char *const[]){"--max-ttl-ms", "200", NULL});
    call_give_back(service.port, "kept", &held);
    expect_wait(service.port, "2000", 200);
    assert_int_equal(process_stop(service.process), 0);
    service = moving_serve(&three);
    expect_higher_tokens(service.port);
    assert_int_equal(call_acquire(service.port, "longer", "{\"ttl_ms\": 2000}")->status, 201);
}

/* No caller can hold a lock, so that no holder has to be waited for. */
static void fleet_without_locks_goes_on_at_once(void **state)
{
    moving_init(&three, "300000");
    assert_int_equal(moving_run(&three, &five, NULL), 0);
}

/* Then the leases that are left are not known, and the longest is waited for. */
static void fleet_with_a_master_that_forgot_waits_for_the_longest_lease(void **state)
{
    const struct pawl_service before = use_three();
    assert_int_equal(process_stop(before.process), 0);
    wipe(&(struct moving_masters){.first = 1, .n = 1});
    const uint64_t began_ms = wait_now_ms();
    assert_int_equal(moving_run(&three, &others, NULL), 0);
    assert_true(wait_now_ms() - began_ms >= LEASE_MS);
    serve_and_expect_higher_tokens(&others);
}

/* A token floor may have been put as high as it goes. The margin fits no more. */
static void fleet_with_few_tokens_left_is_moved(void **state)
{
    const struct pawl_service before = use_three();
    for (unsigned i = 0; i < three.n; i++)
        fleet_command(i, "HSET pawl:fleet floor " LAST_FLOOR);
    const struct grant high = call_grant(before.port, "high", NULL);
    assert_true(high.token > strtoll(LAST_FLOOR, NULL, 10));
    call_give_back(before.port, "high", &high);
    assert_int_equal(moving_run(&three, &others, NULL), 0);
    assert_true(call_grant(moving_serve(&others).port, "high", NULL).token > high.token);
}

static void named_counter_goes_on_above_its_values(void **state)
{
    const struct pawl_service before = use_three();
    const int64_t value = call_value(call_count(before.port, "orders", "{\"count\": 1000000}"));
    assert_int_equal(moving_run(&three, &five, NULL), 0);
    const struct pawl_service after = moving_serve(&five);
    const int64_t read = call_value(call_read_counter(after.port, "orders"));
    assert_true(read >= value);
    assert_true(call_value(call_count(after.port, "orders", NULL)) > read);
}

static void break_off_after_line(const struct moving_masters *to, unsigned line)
{
    char begins[16];
    const struct pawl_service before = use_three();
    (void)call_grant(before.port, "held", "{\"ttl_ms\": 1000}"); /* it waits for this */
    struct process *process = moving_start(&three, to);
    snprintf(begins, sizeof(begins), "%u\\. ", line);
    process_wait_line(process, begins, LINE_MS, NULL, 0);
    process_kill(process);
    if (line >= 3)
        expect_nothing_granted(before.port);
    assert_int_equal(process_stop(before.process), 0);
    assert_int_equal(moving_run(&three, to, NULL), 0);
    serve_and_expect_higher_tokens(to);
    wipe(&(struct moving_masters){.first = 0, .n = ALL_MASTERS});
}

/* A master that was a file has one follower, and that is found again. */
static void file_is_moved_to_one_fleet_alone(void **state)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof(folder), "%s/data", fleet->dir);
    struct pawl_service service =
        pawld_start_at(folder, (const char *const[]){"--max-ttl-ms", "1000", NULL});
    pawl_wait_ready(service);
    memset(last_token, 0, sizeof(last_token));
    expect_higher_tokens(service.port);
    assert_int_equal(process_stop(service.process), 0);
    assert_int_equal(moving_run_from_file(folder, &three), 0);
    assert_int_equal(moving_run_from_file(folder, &three), 0);
    moving_expect_said("the move is already complete");
    assert_int_equal(moving_run_from_file(folder, &others), 1);
    moving_expect_said("with the --master options of that move");
    moving_init(&distant, "1000");
    assert_int_equal(moving_run_from_file(folder, &distant), 1);
    service = moving_serve(&three);
    expect_higher_tokens(service.port);
}

static void move_that_is_broken_off_after_any_step_is_run_again(void **state)
{
    for (unsigned line = 1; line <= LINES; line++) {
        break_off_after_line(&five, line);
        break_off_after_line(&others, line);
        break_off_after_line(&three, line);
    }
}

/* Runs it three times. The first two are killed after a while, if they last that long. Returns
 * whether the last had anything to do. */
static bool break_off_at_any_moment(const struct moving_masters *to, unsigned after_ms)
{
    const struct pawl_service before = use_three();
    for (unsigned again = 0; again < 2; again++) {
        struct process *process = moving_start(&three, to);
        wait_ms(after_ms + again * KILL_STEP_MS / 2);
        process_kill(process);
    }
    assert_int_equal(process_stop(before.process), 0);
    assert_int_equal(moving_run(&three, to, NULL), 0);
    const bool was_done = moving_said("the move is already complete");
    serve_and_expect_higher_tokens(to);
    wipe(&(struct moving_masters){.first = 0, .n = ALL_MASTERS});
    return !was_done;
}

static void move_that_is_killed_at_any_moment_is_run_again(void **state)
{
    unsigned went_on = 0;
    for (unsigned k = 0; k < KILLS; k++)
        went_on += break_off_at_any_moment(k % 2 == 0 ? &five : &others, k / 2 * KILL_STEP_MS);
    print_message("%u of %u moves were broken off twice and went on\n", went_on, (unsigned)KILLS);
    assert_true(went_on > 0);
}

static void move_to_a_master_that_is_away_leaves_the_fleet_as_it_is(void **state)
{
    const struct pawl_service before = use_three();
    redis_fleet_kill(fleet, 4);
    assert_int_equal(moving_run(&three, &five, NULL), 1);
    moving_expect_said("--master: master 5");
    expect_higher_tokens(before.port);
    redis_fleet_kill(fleet, 2);
    assert_int_equal(moving_run(&three, &others, NULL), 1);
    moving_expect_said("--from: master 3");
    expect_higher_tokens(before.port);
}

static void fleet_in_another_order_or_without_all_masters_is_not_moved(void **state)
{
    const struct pawl_service before = use_three();
    assert_int_equal(moving_run(&(struct moving_masters){.first = 1, .n = 3}, &distant, NULL), 1);
    moving_expect_said("--from: master 1");
    moving_expect_said("is member 2");
    assert_int_equal(moving_run(&(struct moving_masters){.first = 0, .n = 1}, &distant, NULL), 1);
    moving_expect_said("has 3 masters and not 1");
    assert_int_equal(moving_run(&distant, &others, NULL), 1);
    moving_expect_said("no master belongs to a fleet");
    expect_higher_tokens(before.port);
}

static void fleet_whose_majority_forgot_is_moved_with_a_token_floor(void **state)
{
    const struct pawl_service before = use_three();
    assert_int_equal(process_stop(before.process), 0);
    wipe(&(struct moving_masters){.first = 1, .n = 2});
    assert_int_equal(moving_run(&three, &five, NULL), 1);
    moving_expect_said("only 1 of 3 masters kept their data");
    assert_int_equal(
        moving_run(&three, &five, (const char *const[]){"--token-floor", HIGHER_FLOOR, NULL}), 0);
    last_token[0] = strtoll(HIGHER_FLOOR, NULL, 10);
    serve_and_expect_higher_tokens(&five);
}

/* They voted, and have forgotten it. A floor as before would be below what they gave out. */
static void move_whose_masters_forgot_is_not_begun_again(void **state)
{
    const struct pawl_service before = use_three();
    assert_int_equal(process_stop(before.process), 0);
    assert_int_equal(moving_run(&three, &others, NULL), 0);
    serve_and_expect_higher_tokens(&others);
    wipe(&others);
    assert_int_equal(moving_run(&three, &others, NULL), 1);
    moving_expect_said("0 of 3 masters have a record");
    char floor[32];
    snprintf(floor, sizeof(floor), "%lld", (long long)last_token[0]);
    assert_int_equal(
        moving_run(&three, &others, (const char *const[]){"--token-floor", floor, NULL}), 0);
    serve_and_expect_higher_tokens(&others);
}

static bool is_ready(const struct moving_masters *masters)
{
    const struct pawl_service service = moving_serve_early(masters);
    bool ready = false;
    for (unsigned i = 0; i < 20 && !ready; i++, wait_ms(50))
        ready = call(service.port, "GET", "/readyz", NULL, NULL)->status == 200;
    assert_int_equal(process_stop(service.process), 0);
    return ready;
}

/* Both are run again and again, at once; in the end one fleet follows. */
static void race(unsigned apart_ms)
{
    assert_int_equal(process_stop(use_three().process), 0);
    int first = 1, second = 1;
    for (unsigned i = 0; i < MOVE_TRIES && first != 0 && second != 0; i++) {
        struct process *one = moving_start(&three, &others);
        wait_ms(apart_ms);
        second = moving_run(&three, &distant, NULL);
        first = process_wait(one, LINE_MS);
        assert_true(first != 0 || second != 0);
    }
    if (first != 0 && second != 0) {
        first = moving_run(&three, &others, NULL);
        second = moving_run(&three, &distant, NULL);
    }
    assert_int_equal((first == 0) + (second == 0), 1);
    assert_int_equal(moving_run(&three, first == 0 ? &distant : &others, NULL), 1);
    assert_false(is_ready(first == 0 ? &distant : &others));
    serve_and_expect_higher_tokens(first == 0 ? &others : &distant);
    wipe(&(struct moving_masters){.first = 0, .n = ALL_MASTERS});
}

static void of_two_moves_at_once_one_is_done(void **state)
{
    for (unsigned k = 0; k < PAIRS; k++)
        race(k * 4);
}

#define MOVE_FLEET_CASE(name) FLEET_CASE(name, ALL_MASTERS, REDIS_VOLATILE)

static const struct CMUnitTest cases[] = {
    MOVE_FLEET_CASE(fleet_goes_on_with_more_masters_its_own_among_them),
    MOVE_FLEET_CASE(fleet_goes_on_with_other_masters_and_its_own_are_closed),
    MOVE_FLEET_CASE(longest_lease_becomes_another_on_the_same_masters),
    MOVE_FLEET_CASE(fleet_without_locks_goes_on_at_once),
    MOVE_FLEET_CASE(fleet_with_a_master_that_forgot_waits_for_the_longest_lease),
    MOVE_FLEET_CASE(fleet_with_few_tokens_left_is_moved),
    MOVE_FLEET_CASE(named_counter_goes_on_above_its_values),
    MOVE_FLEET_CASE(file_is_moved_to_one_fleet_alone),
    MOVE_FLEET_CASE(move_that_is_broken_off_after_any_step_is_run_again),
    MOVE_FLEET_CASE(move_that_is_killed_at_any_moment_is_run_again),
    MOVE_FLEET_CASE(move_to_a_master_that_is_away_leaves_the_fleet_as_it_is),
    MOVE_FLEET_CASE(fleet_in_another_order_or_without_all_masters_is_not_moved),
    MOVE_FLEET_CASE(fleet_whose_majority_forgot_is_moved_with_a_token_floor),
    FLEET_CASE(fleet_whose_data_went_back_goes_on_by_a_floor_alone, ALL_MASTERS, REDIS_ALWAYS),
    FLEET_CASE(disks_of_before_a_floor_are_not_believed_by_a_new_pawld, ALL_MASTERS, REDIS_ALWAYS),
    FLEET_CASE(disks_of_before_a_move_are_not_believed_by_a_new_pawld, ALL_MASTERS, REDIS_ALWAYS),
    MOVE_FLEET_CASE(move_whose_masters_forgot_is_not_begun_again),
    MOVE_FLEET_CASE(of_two_moves_at_once_one_is_done),
};

CASE_MAIN(cases, NULL, NULL)
