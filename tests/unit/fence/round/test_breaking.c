#include "fence/protocol/owner.h"
#include "fence/round/breaking.h"
#include "tests/lib/case.h"

#include <string.h>

enum {
    TOKEN = 7,
};

/* Replies as letters, one for each master in order. Of the first round: a and b, that holder with
 * the token; A and B, with a higher number; o, a with a lower one; w, a as a writer; ~ a tombstone
 * with the token.
 * Of the second: y done; A as above; b another holder with the token; s spent. Of both: n no such
 * lock, r refused, l lost, '-' not asked, '.' no answer yet. */
static struct fence_reply reply_of(char letter)
{
    static const char writer[] = {FENCE_WRITER_MARK, '\0'};
    struct fence_reply held = {.kind = FENCE_REPLY_HELD, .number = TOKEN, .owner = ""};
    switch (letter) {
    case 'a':
    case 'A':
    case 'o':
    case 'w':
        held.holder = "a";
        held.owner = letter == 'w' ? writer : "";
        held.number += letter == 'A' ? 2 : letter == 'o' ? -2 : 0;
        return held;
    case 'b':
    case 'B':
        held.holder = "b";
        held.number += letter == 'B' ? 3 : 0;
        return held;
    case '~':
        held.holder = FENCE_TOMBSTONE;
        return held;
    case 'y':
        return (struct fence_reply){.kind = FENCE_REPLY_YES};
    case 'n':
        return (struct fence_reply){.kind = FENCE_REPLY_NO};
    case 's':
        return (struct fence_reply){.kind = FENCE_REPLY_SPENT};
    case 'r':
        return (struct fence_reply){.kind = FENCE_REPLY_REFUSED};
    default:
        return (struct fence_reply){.kind = FENCE_REPLY_LOST};
    }
}

static uint32_t asked(const char *letters)
{
    uint32_t set = 0;
    for (unsigned i = 0; letters[i] != '\0'; i++)
        if (letters[i] != '-')
            set |= UINT32_C(1) << i;
    return set;
}

static void reply_all(struct fence_breaking *breaking, const char *letters)
{
    for (unsigned i = 0; letters[i] != '\0'; i++) {
        if (letters[i] == '-' || letters[i] == '.')
            continue;
        struct fence_reply reply = reply_of(letters[i]);
        fence_breaking_reply(breaking, i, &reply);
    }
}

static struct fence_breaking seen_of(const char *letters, bool covers)
{
    struct fence_breaking breaking;
    fence_breaking_begin(&breaking, TOKEN, covers, (unsigned)strlen(letters), asked(letters));
    reply_all(&breaking, letters);
    return breaking;
}

static struct fence_breaking seen(const char *letters)
{
    return seen_of(letters, false);
}

static struct fence_breaking broken(const char *letters)
{
    struct fence_breaking breaking = seen(strlen(letters) == 3 ? "aan" : "aaann");
    assert_int_equal(fence_breaking_verdict(&breaking), FENCE_BREAK_FOUND);
    fence_breaking_break(&breaking, asked(letters));
    reply_all(&breaking, letters);
    return breaking;
}

static enum fence_break_verdict verdict(struct fence_breaking breaking)
{
    return fence_breaking_verdict(&breaking);
}

#define SEEN_IS(letters, expected) assert_int_equal(verdict(seen(letters)), FENCE_BREAK_##expected)
#define BROKEN_IS(letters, expected)                                                               \
    assert_int_equal(verdict(broken(letters)), FENCE_BREAK_##expected)

static void lock_id_is_found_where_a_majority_may_have_the_grant(void **state)
{
    SEEN_IS("...", OPEN);
    SEEN_IS("a..", OPEN);
    SEEN_IS("aa.", FOUND);
    SEEN_IS("aan", FOUND);
    SEEN_IS("anl", FOUND); /* the silent one may have it */
    SEEN_IS("aon", FOUND); /* under an older number */
    SEEN_IS("aaann", FOUND);
    SEEN_IS("aannl", FOUND);
    assert_string_equal(seen("nab").lock_id, "a");
}

static void few_may_have_what_is_left_of_it(void **state)
{
    SEEN_IS("ann", FOUND);
    SEEN_IS("nan", FOUND);
    SEEN_IS("annnn", FOUND);
}

static void another_token_is_a_mismatch(void **state)
{
    SEEN_IS("AA.", MISMATCH);
    SEEN_IS("BBa", MISMATCH);
    SEEN_IS("oon", MISMATCH);
    struct fence_breaking breaking = seen("BBa");
    assert_int_equal(fence_breaking_token_now(&breaking), TOKEN + 3);
}

/* A writer's seats have numbers up to its token. */
static void token_that_covers_is_of_any_number_up_to_it(void **state)
{
    assert_int_equal(verdict(seen_of("oon", true)), FENCE_BREAK_FOUND);
    assert_int_equal(verdict(seen_of("aan", true)), FENCE_BREAK_FOUND);
    assert_int_equal(verdict(seen_of("AAn", true)), FENCE_BREAK_MISMATCH);
    assert_int_equal(verdict(seen_of("nnn", true)), FENCE_BREAK_FREE);
    assert_string_equal(seen_of("oon", true).lock_id, "a");
}

static void seat_of_a_writer_is_broken_with_all_others_only(void **state)
{
    SEEN_IS("ww.", WRITERS);
    SEEN_IS("wln", WRITERS); /* the silent one may have it */
    SEEN_IS("wnn", FOUND);   /* no majority has it */
    assert_int_equal(verdict(seen_of("wwn", true)), FENCE_BREAK_FOUND);
}

/* It was given the number by a master whose counter is behind. */
static void attempt_that_was_given_the_number_is_no_holder(void **state)
{
    SEEN_IS("anA", MISMATCH);
    struct fence_breaking breaking = seen("anA");
    assert_int_equal(fence_breaking_token_now(&breaking), 0);
}

static void lock_that_nobody_holds_is_free(void **state)
{
    SEEN_IS("nn.", FREE);
    SEEN_IS("nnA", FREE);
    SEEN_IS("nnn..", FREE);
    SEEN_IS("nnl", FREE);
}

static void too_few_answers_say_nothing(void **state)
{
    SEEN_IS("all", UNKNOWN);
    SEEN_IS("a--", UNKNOWN);
    SEEN_IS("arl", UNKNOWN);
    SEEN_IS("aalll", UNKNOWN);
    SEEN_IS("nll", UNKNOWN);
    SEEN_IS("---", UNKNOWN);
}

static void of_two_that_are_named_most_masters_decide(void **state)
{
    assert_string_equal(seen("abb").lock_id, "b");
    assert_string_equal(seen("aab").lock_id, "a");
    assert_string_equal(seen("babab").lock_id, "b");
}

static void tombstone_is_nobodys_to_break(void **state)
{
    SEEN_IS("~~.", MISMATCH);
    assert_string_equal(seen("~a~").lock_id, "a");
}

static void broken_by_a_majority_of_all_masters(void **state)
{
    BROKEN_IS("y..", OPEN);
    BROKEN_IS("yy.", DONE);
    BROKEN_IS("yl.", OPEN);
    BROKEN_IS("yll", UNKNOWN);
    BROKEN_IS("y--", UNKNOWN);
    BROKEN_IS("yyy..", DONE);
    BROKEN_IS("yyl--", UNKNOWN);
    BROKEN_IS("yyA", DONE);
}

static void later_grant_of_the_lock_id_is_a_mismatch(void **state)
{
    BROKEN_IS("AA.", MISMATCH);
    BROKEN_IS("yA.", OPEN);
    BROKEN_IS("yAl", MISMATCH);
    BROKEN_IS("All", UNKNOWN);
    struct fence_breaking breaking = broken("yAl");
    assert_int_equal(fence_breaking_token_now(&breaking), TOKEN + 2);
}

static void master_where_another_lock_id_has_such_a_number_does_not_count(void **state)
{
    BROKEN_IS("yb.", OPEN);
    BROKEN_IS("ybl", UNKNOWN);
    BROKEN_IS("bbb", UNKNOWN);
    BROKEN_IS("ybA", MISMATCH);
}

static void obstacle_of_a_majority_is_told(void **state)
{
    struct fence_breaking breaking = broken("ssy");
    assert_int_equal(fence_breaking_verdict(&breaking), FENCE_BREAK_UNKNOWN);
    assert_int_equal(fence_breaking_error(&breaking), FENCE_ESPENT);
    breaking = broken("yll");
    assert_int_equal(fence_breaking_error(&breaking), FENCE_ENOQUORUM);
}

static void second_reply_of_one_master_changes_nothing(void **state)
{
    struct fence_breaking breaking = broken("y..");
    struct fence_reply yes = reply_of('y');
    fence_breaking_reply(&breaking, 0, &yes);
    assert_int_equal(fence_breaking_verdict(&breaking), FENCE_BREAK_OPEN);
}

static void nothing_is_open_after_giving_up(void **state)
{
    struct fence_breaking breaking = seen("a..");
    fence_breaking_give_up(&breaking);
    assert_int_equal(fence_breaking_verdict(&breaking), FENCE_BREAK_UNKNOWN);
    breaking = broken("y..");
    fence_breaking_give_up(&breaking);
    assert_int_equal(fence_breaking_verdict(&breaking), FENCE_BREAK_UNKNOWN);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(lock_id_is_found_where_a_majority_may_have_the_grant),
    cmocka_unit_test(few_may_have_what_is_left_of_it),
    cmocka_unit_test(another_token_is_a_mismatch),
    cmocka_unit_test(token_that_covers_is_of_any_number_up_to_it),
    cmocka_unit_test(seat_of_a_writer_is_broken_with_all_others_only),
    cmocka_unit_test(attempt_that_was_given_the_number_is_no_holder),
    cmocka_unit_test(lock_that_nobody_holds_is_free),
    cmocka_unit_test(too_few_answers_say_nothing),
    cmocka_unit_test(of_two_that_are_named_most_masters_decide),
    cmocka_unit_test(tombstone_is_nobodys_to_break),
    cmocka_unit_test(broken_by_a_majority_of_all_masters),
    cmocka_unit_test(later_grant_of_the_lock_id_is_a_mismatch),
    cmocka_unit_test(master_where_another_lock_id_has_such_a_number_does_not_count),
    cmocka_unit_test(obstacle_of_a_majority_is_told),
    cmocka_unit_test(second_reply_of_one_master_changes_nothing),
    cmocka_unit_test(nothing_is_open_after_giving_up),
};

CASE_MAIN(cases, NULL, NULL)
