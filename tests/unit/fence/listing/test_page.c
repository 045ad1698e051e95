/* The machine of a page, step by step: what comes back is noted, and the next tick goes on. */
#include "fence/listing/page.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    ROOM = 300,
    CLIENT = 42,
    HOLDER = 7,
};

static struct fence_fleet fleet;
static struct fence_listing listing;
static struct fence_listing_effects effects; /* of the last BEGIN or TICK */
static uint64_t now_us;
static struct fence_listed locks[ROOM];
static struct fence_lock_name name[ROOM];
static struct fence_listing_holders holder[ROOM];
static char cursor[FENCE_LISTING_CURSOR_MAX]; /* of the last answer */

static void give(struct fence_listing_event event, struct fence_listing_effects *to)
{
    event.now_us = now_us;
    event.fleet = &fleet;
    fence_listing_step(&listing, &event, to);
    fence_listing_check(&listing);
}

static void tick(void)
{
    if (fence_listing_deadline(&listing) > now_us)
        now_us = fence_listing_deadline(&listing);
    give((struct fence_listing_event){.kind = FENCE_LISTING_EVENT_TICK}, &effects);
}

/* Goes on at once with what came back. */
static void go_on(void)
{
    assert_true(fence_listing_deadline(&listing) <= now_us);
    tick();
}

/* A fleet of @n active masters, of which each has its own server id. */
static void fleet_of(unsigned n)
{
    fence_fleet_init(&fleet, n);
    strcpy(fleet.fleet_id, "f");
    for (unsigned i = 0; i < n; i++) {
        fleet.master[i].state = FENCE_MASTER_ACTIVE;
        fleet.master[i].facts.server_id[0] = (char)('a' + i);
    }
    fence_listing_init(&listing);
    now_us = 1000;
}

static void begin_at(const char *from, unsigned limit)
{
    char text[FENCE_LISTING_CURSOR_MAX];
    (void)snprintf(text, sizeof(text), "%s", from);
    const struct fence_listing_call call = {
        .client = CLIENT, .prefix = "", .cursor = text, .limit = limit};
    give((struct fence_listing_event){.kind = FENCE_LISTING_EVENT_BEGIN,
                                      .begin = {.call = &call, .locks = locks}},
         &effects);
}

static void begin(unsigned n, unsigned limit)
{
    fleet_of(n);
    begin_at("", limit);
}

static void give_noted(struct fence_listing_event event)
{
    struct fence_listing_effects none;
    give(event, &none);
    assert_int_equal(none.count, 0);
}

static void give_found(enum fence_listing_event_kind kind, unsigned i,
                       const struct fence_found *found)
{
    struct fence_listing_event event = {
        .kind = kind,
        .told = {.master = i, .found = found, .room = {.name = name, .holder = holder}}};
    give_noted(event);
}

/* Master @i finds @names, of which "" is the end. */
static void scanned(unsigned i, uint64_t next, const char *const names[])
{
    struct fence_found found = {.part = FENCE_PART_GRANTED, .next = next, .names = names};
    while (names[found.count][0] != '\0')
        found.count++;
    give_found(FENCE_LISTING_EVENT_SCANNED, i, &found);
}

static void holders(unsigned i, size_t count, const uint64_t *of)
{
    const struct fence_found found = {.part = FENCE_PART_GRANTED, .count = count, .holders = of};
    give_found(FENCE_LISTING_EVENT_HOLDERS, i, &found);
}

static void inspected_of(const char *resource, const char *owner, int error, bool held)
{
    const struct fence_answer answer = {.kind = FENCE_CALL_INSPECT,
                                        .error = error,
                                        .resource = resource,
                                        .owner = owner,
                                        .token = 5,
                                        .remaining_ms = 100,
                                        .inspect.held = held};
    give_noted(
        (struct fence_listing_event){.kind = FENCE_LISTING_EVENT_INSPECTED, .answer = &answer});
}

static void inspected(const char *resource, int error, bool held)
{
    inspected_of(resource, "me", error, held);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, ""})
#define NO_NAMES   ((const char *const[]){""})
#define SET(i)     (UINT32_C(1) << (i))

static const struct fence_listing_effect *only(enum fence_listing_effect_kind kind)
{
    assert_int_equal(effects.count, 1);
    assert_int_equal(effects.items[0].kind, kind);
    return &effects.items[0];
}

static void assert_scans(unsigned i, uint64_t from)
{
    const struct fence_listing_effect *effect = only(FENCE_LISTING_EFFECT_SCAN);
    assert_int_equal(effect->masters, SET(i));
    assert_int_equal(effect->scan.cursor, from);
}

static void assert_inspects(const char *const names[])
{
    const struct fence_listing_effect *effect = only(FENCE_LISTING_EFFECT_INSPECT);
    size_t k = 0;
    for (; names[k][0] != '\0'; k++)
        assert_string_equal(effect->names.name[k].text, names[k]);
    assert_int_equal(effect->names.count, k);
}

/* The page is answered, with @count locks; what follows it is in @cursor, "" if nothing does. */
static const struct fence_listing_answer *answered(int error, size_t count)
{
    assert_true(effects.count > 0);
    assert_int_equal(effects.items[0].kind, FENCE_LISTING_EFFECT_ANSWER);
    const struct fence_listing_answer *page = &effects.items[0].answer;
    assert_int_equal(page->client, CLIENT);
    assert_int_equal(page->error, error);
    if (!error)
        assert_int_equal(page->count, count);
    (void)snprintf(cursor, sizeof(cursor), "%s", page->next_cursor ? page->next_cursor : "");
    return page;
}

/* The names are inspected, and all of them are held. */
static void list(const char *const names[])
{
    assert_inspects(names);
    for (size_t k = 0; names[k][0] != '\0'; k++)
        inspected(names[k], 0, true);
    go_on();
}

static void as_many_masters_are_walked_as_no_majority_can_do_without(void **state)
{
    static const unsigned sizes[] = {1, 3, 5, 7, 9};
    for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        unsigned n = sizes[k];
        begin(n, 10);
        for (unsigned i = 0; i < n - n / 2; i++) {
            assert_scans(i, 0);
            scanned(i, 0, NO_NAMES);
            go_on();
        }
        (void)answered(0, 0);
        assert_string_equal(cursor, "");
        assert_true(fence_listing_is_idle(&listing));
    }
}

static void walk_goes_on_where_the_step_before_ended(void **state)
{
    begin(1, 10);
    scanned(0, 77, NO_NAMES);
    go_on();
    assert_scans(0, 77);
}

static void another_master_is_walked_from_its_first_name_where_one_went_down(void **state)
{
    begin(3, 10);
    scanned(0, 77, NO_NAMES);
    fleet.master[0].state = FENCE_MASTER_DOWN;
    go_on();
    assert_scans(1, 0);
}

static const struct fence_found no_answer = {.part = FENCE_PART_TIMEOUT};

static void step_is_made_at_another_master_where_one_went_down_in_it(void **state)
{
    begin(3, 10);
    give_found(FENCE_LISTING_EVENT_SCANNED, 0, &no_answer);
    fleet.master[0].state = FENCE_MASTER_DOWN;
    go_on();
    assert_scans(1, 0);
}

static void step_is_made_anew_at_a_master_that_restarted_in_it(void **state)
{
    begin(1, 10);
    scanned(0, 77, NO_NAMES);
    go_on();
    give_found(FENCE_LISTING_EVENT_SCANNED, 0, &no_answer);
    fleet.master[0].facts.server_id[0] = 'z';
    go_on();
    assert_scans(0, 0);
    scanned(0, 0, NAMES("a"));
    go_on();
    list(NAMES("a"));
    (void)answered(0, 1);
}

static void masters_that_end_every_step_end_the_page(void **state)
{
    begin(3, 10);
    for (unsigned step = 0; step < FENCE_LISTING_STEPS; step++) {
        assert_scans(0, 0);
        give_found(FENCE_LISTING_EVENT_SCANNED, 0, &no_answer);
        go_on();
    }
    (void)answered(0, 0);
}

static void cursor_of_another_process_is_outdated(void **state)
{
    begin(3, 1);
    scanned(0, 77, NAMES("a"));
    go_on();
    list(NAMES("a"));
    (void)answered(0, 1);
    begin_at(cursor, 1);
    assert_scans(0, 77);
    fleet_of(3);
    fleet.master[0].facts.server_id[0] = 'z';
    begin_at(cursor, 1);
    (void)answered(FENCE_EINVAL, 0);
}

static void fleet_that_is_not_known_or_has_no_majority_lists_nothing(void **state)
{
    fleet_of(3);
    fleet.fleet_id[0] = '\0';
    begin_at("", 10);
    (void)answered(FENCE_ENOTREADY, 0);
    fleet_of(3);
    fleet.master[0].state = fleet.master[1].state = FENCE_MASTER_DOWN;
    begin_at("", 10);
    const struct fence_listing_answer *page = answered(FENCE_ENOQUORUM, 0);
    assert_int_equal(page->total, 3);
    assert_int_equal(page->parts[0], FENCE_PART_DOWN);
}

/* Master 0 was walked, and master 1 has found these. */
static void at_the_second(const char *const names[])
{
    begin(3, 10);
    scanned(0, 0, NO_NAMES);
    go_on();
    scanned(1, 0, names);
}

static void name_is_passed_over_where_the_same_holder_was_met_before(void **state)
{
    static const uint64_t first[] = {HOLDER, 8, 0};
    static const uint64_t second[] = {HOLDER, HOLDER, HOLDER};
    at_the_second(NAMES("a", "b", "c"));
    go_on();
    assert_int_equal(only(FENCE_LISTING_EFFECT_HOLDERS)->masters, SET(0) | SET(1));
    holders(1, 3, second);
    holders(0, 3, first);
    go_on();
    assert_inspects(NAMES("b", "c"));
}

static void name_is_not_passed_over_where_nobody_can_be_asked(void **state)
{
    static const uint64_t of[] = {HOLDER};
    at_the_second(NAMES("a"));
    fleet.master[0].state = FENCE_MASTER_DOWN;
    go_on();
    assert_int_equal(only(FENCE_LISTING_EFFECT_HOLDERS)->masters, SET(1));
    holders(1, 1, of);
    go_on();
    assert_inspects(NAMES("a"));
}

static void name_is_not_passed_over_where_a_master_went_down_when_asked(void **state)
{
    static const uint64_t of[] = {HOLDER};
    at_the_second(NAMES("a"));
    go_on();
    assert_int_equal(only(FENCE_LISTING_EFFECT_HOLDERS)->masters, SET(0) | SET(1));
    holders(1, 1, of);
    give_found(FENCE_LISTING_EVENT_HOLDERS, 0, &no_answer);
    go_on();
    assert_inspects(NAMES("a"));
}

static void answer_about_other_names_is_an_error(void **state)
{
    static const uint64_t of[] = {HOLDER, HOLDER};
    at_the_second(NAMES("a"));
    go_on();
    holders(0, 2, of);
    holders(1, 1, of);
    go_on();
    (void)answered(FENCE_EIO, 0);
}

static void step_with_too_many_names_is_asked_for_again_with_fewer_keys(void **state)
{
    begin(1, 2);
    unsigned keys = only(FENCE_LISTING_EFFECT_SCAN)->scan.keys;
    assert_int_equal(keys, 2);
    scanned(0, 5, NAMES("a", "b", "c"));
    go_on();
    assert_scans(0, 0);
    assert_int_equal(effects.items[0].scan.keys, 1);
    scanned(0, 3, NAMES("b"));
    go_on();
    list(NAMES("b"));
    assert_scans(0, 3);
}

static void page_ends_before_a_step_that_does_not_fit(void **state)
{
    begin(1, 2);
    scanned(0, 5, NAMES("a"));
    go_on();
    list(NAMES("a"));
    for (unsigned keys = 2; keys > 0; keys--) {
        assert_int_equal(only(FENCE_LISTING_EFFECT_SCAN)->scan.keys, keys);
        scanned(0, 9, NAMES("b", "c"));
        go_on();
    }
    (void)answered(0, 1);
    begin_at(cursor, 2);
    assert_scans(0, 5);
}

/* One lock a page, and a step of two. */
static void split(void)
{
    begin(1, 1);
    scanned(0, 5, NAMES("b", "a"));
    go_on();
    list(NAMES("a"));
    (void)answered(0, 1);
    assert_string_equal(locks[0].resource, "a");
    begin_at(cursor, 1);
    assert_scans(0, 0);
}

static void page_goes_on_within_the_step_that_the_one_before_ended_in(void **state)
{
    split();
    scanned(0, 5, NAMES("b", "a"));
    go_on();
    list(NAMES("b"));
    (void)answered(0, 1);
    begin_at(cursor, 1);
    assert_scans(0, 5);
}

static void step_that_covers_another_part_now_is_listed_from_its_first_name(void **state)
{
    split();
    scanned(0, 6, NAMES("a"));
    go_on();
    assert_inspects(NAMES("a"));
}

static void page_ends_after_so_many_steps(void **state)
{
    begin(1, 10);
    for (uint64_t k = 1; k <= FENCE_LISTING_STEPS; k++) {
        assert_scans(0, k - 1);
        scanned(0, k, NO_NAMES);
        go_on();
    }
    (void)answered(0, 0);
    assert_true(cursor[0] != '\0');
}

static void only_what_is_held_is_listed(void **state)
{
    begin(1, 10);
    scanned(0, 0, NAMES("a", "b"));
    go_on();
    inspected("a", 0, false);
    inspected("b", 0, true);
    go_on();
    const struct fence_listing_answer *page = answered(0, 1);
    assert_string_equal(page->locks[0].resource, "b");
    assert_string_equal(page->locks[0].owner, "me");
    assert_int_equal(page->locks[0].token, 5);
    assert_int_equal(page->locks[0].remaining_ms, 100);
}

/* By its last seat, which has the greatest number. */
static void writer_is_listed_once_and_a_reader_by_its_seat(void **state)
{
    begin(1, 10);
    fleet.readers = 3;
    scanned(0, 0, NAMES("r#1", "r#2", "w#0", "w#1", "w#2", "w#w"));
    go_on();
    inspected("r#1", 0, true);
    inspected("r#2", 0, true);
    inspected_of("w#0", "\x1dme", 0, true);
    inspected_of("w#1", "\x1dme", 0, true);
    inspected_of("w#2", "\x1dme", 0, true);
    inspected_of("w#w", "\x1dme", 0, true);
    go_on();
    const struct fence_listing_answer *page = answered(0, 3);
    assert_string_equal(page->locks[0].resource, "r#1");
    assert_string_equal(page->locks[1].resource, "r#2");
    assert_string_equal(page->locks[2].resource, "w#w");
}

static void names_are_inspected_so_many_at_a_time(void **state)
{
    static char text[FENCE_LISTING_CALLS + 1][8];
    const char *names[FENCE_LISTING_CALLS + 2];
    for (unsigned k = 0; k <= FENCE_LISTING_CALLS; k++) {
        (void)snprintf(text[k], sizeof(text[k]), "n%03u", k);
        names[k] = text[k];
    }
    names[FENCE_LISTING_CALLS + 1] = "";
    begin(1, ROOM);
    scanned(0, 0, names);
    go_on();
    assert_int_equal(only(FENCE_LISTING_EFFECT_INSPECT)->names.count, FENCE_LISTING_CALLS);
    for (unsigned k = 0; k < FENCE_LISTING_CALLS; k++)
        inspected(names[k], 0, true);
    go_on();
    assert_inspects(NAMES(text[FENCE_LISTING_CALLS]));
}

static void inspection_that_failed_fails_the_page(void **state)
{
    begin(1, 10);
    scanned(0, 0, NAMES("a", "b"));
    go_on();
    inspected("a", FENCE_EBUSY, false);
    inspected("b", 0, true);
    go_on();
    (void)answered(FENCE_EBUSY, 0);
}

static void master_is_waited_for_only_so_long(void **state)
{
    begin(3, 10);
    assert_int_equal(fence_listing_deadline(&listing), now_us + FENCE_LISTING_PATIENCE_US);
    tick();
    assert_int_equal(answered(FENCE_ENOQUORUM, 0)->parts[0], FENCE_PART_TIMEOUT);
}

static void master_is_waited_for_longer_than_the_core_waits_for_it(void **state)
{
    fleet_of(3);
    fleet.deadline_us = 5 * UINT64_C(1000000);
    begin_at("", 10);
    assert_int_equal(fence_listing_deadline(&listing), now_us + 2 * fleet.deadline_us);
}

static void core_is_asked_so_that_it_notices_who_is_silent(void **state)
{
    begin(3, 10);
    tick();
    assert_int_equal(effects.count, 2);
    assert_int_equal(effects.items[1].kind, FENCE_LISTING_EFFECT_INSPECT);
    assert_int_equal(effects.items[1].names.count, 1);
}

static void what_is_owed_keeps_the_place(void **state)
{
    begin(3, 10);
    tick();
    assert_false(fence_listing_is_idle(&listing));
    inspected("pawl", 0, true);
    assert_false(fence_listing_is_idle(&listing));
    scanned(0, 0, NAMES("a"));
    assert_true(fence_listing_is_idle(&listing));
}

static void tick_that_comes_too_early_does_nothing(void **state)
{
    begin(3, 10);
    now_us += FENCE_LISTING_PATIENCE_US - 1;
    give_noted((struct fence_listing_event){.kind = FENCE_LISTING_EVENT_TICK});
}

static void refusal_and_want_of_memory_fail_the_page(void **state)
{
    const struct fence_found refused = {.part = FENCE_PART_REFUSED};
    const struct fence_found no_room = {.part = FENCE_PART_GRANTED, .error = FENCE_ENOMEM};
    const struct fence_found many = {.part = FENCE_PART_GRANTED,
                                     .count = FENCE_LISTING_NAMES_MAX + 1};
    begin(3, 10);
    give_found(FENCE_LISTING_EVENT_SCANNED, 0, &refused);
    go_on();
    assert_int_equal(answered(FENCE_ENOQUORUM, 0)->parts[0], FENCE_PART_REFUSED);
    begin(3, 10);
    give_found(FENCE_LISTING_EVENT_SCANNED, 0, &no_room);
    go_on();
    (void)answered(FENCE_ENOMEM, 0);
    begin(3, 10);
    give_found(FENCE_LISTING_EVENT_SCANNED, 0, &many);
    go_on();
    (void)answered(FENCE_EIO, 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(as_many_masters_are_walked_as_no_majority_can_do_without),
    cmocka_unit_test(walk_goes_on_where_the_step_before_ended),
    cmocka_unit_test(another_master_is_walked_from_its_first_name_where_one_went_down),
    cmocka_unit_test(step_is_made_at_another_master_where_one_went_down_in_it),
    cmocka_unit_test(step_is_made_anew_at_a_master_that_restarted_in_it),
    cmocka_unit_test(masters_that_end_every_step_end_the_page),
    cmocka_unit_test(cursor_of_another_process_is_outdated),
    cmocka_unit_test(fleet_that_is_not_known_or_has_no_majority_lists_nothing),
    cmocka_unit_test(name_is_passed_over_where_the_same_holder_was_met_before),
    cmocka_unit_test(name_is_not_passed_over_where_nobody_can_be_asked),
    cmocka_unit_test(name_is_not_passed_over_where_a_master_went_down_when_asked),
    cmocka_unit_test(answer_about_other_names_is_an_error),
    cmocka_unit_test(step_with_too_many_names_is_asked_for_again_with_fewer_keys),
    cmocka_unit_test(page_ends_before_a_step_that_does_not_fit),
    cmocka_unit_test(page_goes_on_within_the_step_that_the_one_before_ended_in),
    cmocka_unit_test(step_that_covers_another_part_now_is_listed_from_its_first_name),
    cmocka_unit_test(page_ends_after_so_many_steps),
    cmocka_unit_test(only_what_is_held_is_listed),
    cmocka_unit_test(writer_is_listed_once_and_a_reader_by_its_seat),
    cmocka_unit_test(names_are_inspected_so_many_at_a_time),
    cmocka_unit_test(inspection_that_failed_fails_the_page),
    cmocka_unit_test(master_is_waited_for_only_so_long),
    cmocka_unit_test(master_is_waited_for_longer_than_the_core_waits_for_it),
    cmocka_unit_test(core_is_asked_so_that_it_notices_who_is_silent),
    cmocka_unit_test(what_is_owed_keeps_the_place),
    cmocka_unit_test(tick_that_comes_too_early_does_nothing),
    cmocka_unit_test(refusal_and_want_of_memory_fail_the_page),
};

CASE_MAIN(cases, NULL, NULL)
