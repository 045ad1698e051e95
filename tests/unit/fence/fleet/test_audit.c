#include "fence/fleet/audit.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    MASTERS = 3,
};

#define SECOND_US INT64_C(1000000)

static struct fence_audit audit;
static uint64_t now_us;

static int begin(void **state)
{
    fence_audit_init(&audit, MASTERS);
    now_us = SECOND_US;
    return 0;
}

/* A master that nothing is wrong with, on its own machine, whose clock keeps step. */
static struct fence_facts well(unsigned i)
{
    struct fence_facts facts = {.durable = true, .persistence = "always"};
    snprintf(facts.host, sizeof(facts.host), "10.0.0.%u", i + 1);
    facts.clock = (struct fence_clock_reading){
        .theirs_us = UINT64_C(1000000) * SECOND_US + now_us,
        .before_us = now_us,
        .after_us = now_us,
    };
    return facts;
}

static void look(unsigned i, const struct fence_facts *facts)
{
    fence_audit_probed(&audit, i, facts, now_us);
}

enum {
    SLEEPY, /* the fault of a server, as its own room says it */
    LEAKY,
};

static const struct fence_words server_words[] = {
    [SLEEPY] = {"sleepy", "It sleeps. Wake it."},
    [LEAKY] = {"leaky", "It leaks. Mend it."},
};

static void look_at_server(unsigned i, uint32_t findings)
{
    struct fence_facts facts = well(i);
    facts.findings = findings;
    facts.finding_words = server_words;
    look(i, &facts);
}

static void assert_found(unsigned i, enum fence_finding finding)
{
    assert_int_equal(audit.master[i].findings, UINT32_C(1) << finding);
}

/* Looks at master 0 once more, @apart_us later, its clock having gone @ahead_us too far. */
static void look_later(uint64_t apart_us, int64_t ahead_us)
{
    now_us += apart_us;
    struct fence_facts facts = well(0);
    facts.clock.theirs_us = (uint64_t)((int64_t)facts.clock.theirs_us + ahead_us);
    look(0, &facts);
}

static void nothing_is_found_of_masters_that_are_well(void **state)
{
    for (unsigned round = 0; round < 3; round++, now_us += SECOND_US)
        for (unsigned i = 0; i < MASTERS; i++) {
            struct fence_facts facts = well(i);
            look(i, &facts);
            assert_int_equal(audit.master[i].findings, 0);
        }
    assert_int_equal(audit.same_host, 0);
}

static void findings_of_a_server_are_told_in_its_own_words(void **state)
{
    look_at_server(0, UINT32_C(1) << LEAKY);
    assert_found(0, (enum fence_finding)LEAKY);
    assert_ptr_equal(fence_finding_words(&audit.master[0], (enum fence_finding)LEAKY),
                     &server_words[LEAKY]);
    look_at_server(0, 0);
    assert_int_equal(audit.master[0].findings, 0);
    assert_ptr_equal(fence_finding_words(&audit.master[0], (enum fence_finding)LEAKY),
                     &server_words[LEAKY]); /* to be told that it is over */
}

static void what_is_shown_is_of_the_last_look(void **state)
{
    struct fence_facts facts = well(1);
    facts.full = true;
    facts.durable = false;
    snprintf(facts.persistence, sizeof(facts.persistence), "everysec");
    look(1, &facts);
    assert_true(audit.master[1].full);
    assert_false(audit.master[1].durable);
    assert_string_equal(audit.master[1].persistence, "everysec");
    facts = well(1);
    look(1, &facts);
    assert_false(audit.master[1].full);
    assert_true(audit.master[1].durable);
}

static void replicas_are_found_and_go_away(void **state)
{
    struct fence_facts facts = well(1);
    facts.replicas = 2;
    look(1, &facts);
    assert_found(1, FENCE_FINDING_REPLICAS);
    assert_int_equal(audit.master[1].replicas, 2);
    facts.replicas = 0;
    look(1, &facts);
    assert_int_equal(audit.master[1].findings, 0);
}

static void findings_of_one_master_are_not_anothers(void **state)
{
    look_at_server(0, UINT32_C(1) << SLEEPY);
    struct fence_facts facts = well(1);
    facts.replicas = 1;
    look(1, &facts);
    assert_found(0, (enum fence_finding)SLEEPY);
    assert_found(1, FENCE_FINDING_REPLICAS);
    assert_int_equal(audit.master[2].findings, 0);
}

static void step_of_the_clock_stays_on_show_for_its_time(void **state)
{
    look_later(0, 0);
    look_later(5 * SECOND_US, -3 * SECOND_US);
    assert_found(0, FENCE_FINDING_CLOCK);
    assert_int_equal(audit.master[0].strayed_us, -3 * SECOND_US);
    look_later(FENCE_AUDIT_CLOCK_SHOWN_US - 1, -3 * SECOND_US); /* it goes on from where it is */
    assert_found(0, FENCE_FINDING_CLOCK);
    assert_int_equal(audit.master[0].strayed_us, -3 * SECOND_US);
    look_later(1, -3 * SECOND_US);
    assert_int_equal(audit.master[0].findings, 0);
}

static void clock_that_goes_on_too_fast_stays_on_show(void **state)
{
    for (unsigned i = 0; i <= 200; i++) {
        look_later(5 * SECOND_US, (int64_t)i * SECOND_US / 10); /* 2% */
        assert_int_equal(audit.master[0].findings >> FENCE_FINDING_CLOCK & 1, i > 0);
    }
}

static void probe_that_brought_no_time_is_no_step(void **state)
{
    look_later(0, 0);
    now_us += SECOND_US;
    struct fence_facts facts = well(0);
    facts.clock = (struct fence_clock_reading){0}; /* a handshake, or TIME was refused */
    look(0, &facts);
    assert_int_equal(audit.master[0].findings, 0);
    look_later(SECOND_US, 0);
    assert_int_equal(audit.master[0].findings, 0);
    look_later(SECOND_US, SECOND_US); /* and the next is compared with the last that did */
    assert_found(0, FENCE_FINDING_CLOCK);
}

static void slow_reading_does_not_hide_a_step(void **state)
{
    look_later(0, 0);
    now_us += 5 * SECOND_US;
    struct fence_facts facts = well(0);
    facts.clock.before_us -= 4 * SECOND_US; /* it may have been said at any time since */
    facts.clock.theirs_us -= 2 * SECOND_US; /* though it was at the end, by a clock set back */
    look(0, &facts);
    assert_int_equal(audit.master[0].findings, 0);
    look_later(5 * SECOND_US, -2 * SECOND_US);
    assert_found(0, FENCE_FINDING_CLOCK);
}

static void masters_on_one_machine_are_found_until_one_moves(void **state)
{
    struct fence_facts facts = well(0);
    look(0, &facts);
    look(2, &facts); /* the same host */
    assert_int_equal(audit.same_host, 1U << 0 | 1U << 2);
    struct fence_facts other = well(1);
    look(1, &other);
    assert_int_equal(audit.same_host, 1U << 0 | 1U << 2);
    facts = well(2);
    look(2, &facts);
    assert_int_equal(audit.same_host, 0);
}

static void hosts_that_are_not_known_are_not_one_machine(void **state)
{
    struct fence_facts facts = well(0);
    facts.host[0] = '\0';
    look(0, &facts);
    look(1, &facts);
    assert_int_equal(audit.same_host, 0);
}

static void every_finding_has_a_name_of_its_own_and_a_sentence(void **state)
{
    for (int f = FENCE_FINDINGS_OF_SERVER; f < FENCE_FINDINGS; f++) {
        const char *name = fence_finding_words(NULL, (enum fence_finding)f)->name;
        const char *text = fence_finding_words(NULL, (enum fence_finding)f)->text;
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
        assert_int_equal(text[strlen(text) - 1], '.');
        for (int other = FENCE_FINDINGS_OF_SERVER; other < f; other++)
            assert_string_not_equal(name,
                                    fence_finding_words(NULL, (enum fence_finding)other)->name);
    }
}

#define AUDIT_CASE(name) cmocka_unit_test_setup(name, begin)

static const struct CMUnitTest cases[] = {
    AUDIT_CASE(nothing_is_found_of_masters_that_are_well),
    AUDIT_CASE(findings_of_a_server_are_told_in_its_own_words),
    AUDIT_CASE(what_is_shown_is_of_the_last_look),
    AUDIT_CASE(replicas_are_found_and_go_away),
    AUDIT_CASE(findings_of_one_master_are_not_anothers),
    AUDIT_CASE(step_of_the_clock_stays_on_show_for_its_time),
    AUDIT_CASE(clock_that_goes_on_too_fast_stays_on_show),
    AUDIT_CASE(probe_that_brought_no_time_is_no_step),
    AUDIT_CASE(slow_reading_does_not_hide_a_step),
    AUDIT_CASE(masters_on_one_machine_are_found_until_one_moves),
    AUDIT_CASE(hosts_that_are_not_known_are_not_one_machine),
    AUDIT_CASE(every_finding_has_a_name_of_its_own_and_a_sentence),
};

CASE_MAIN(cases, NULL, NULL)
