/* `pawl lock` for months: what happens when a grant was extended as often as its fleet allows. */
#include "tests/lib/case.h"
#include "tests/system/cli/locking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_LOST = 123,
};

/* A second pawld, of a fleet whose grants may be extended twice. Scripts find it as FEW. */
static int begin_few(void **state)
{
    char folder[LOCKING_PATH_BYTES], url[64];
    (void)locking_begin(state);
    snprintf(folder, sizeof(folder), "%s/few", workdir.path);
    struct pawl_service few =
        pawld_start_at(folder, (const char *const[]){"--max-extensions", "2", NULL});
    pawl_wait_ready(few);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", few.port);
    setenv("FEW", url, 1);
    return 0;
}

/* Notes its token, and that it was asked to end. At its third start it is done. */
#define WORK                                                                                       \
    "sh -c 'echo $PAWL_TOKEN >>tokens; end() { echo $PAWL_TOKEN >>asked; exit 9; }; "              \
    "trap end TERM; [ $(wc -l <tokens) = 3 ] && exit 4; while :; do sleep 0.02; done' 2>err"

static void command_is_started_anew_under_a_fresh_token_at_the_cap(void **state)
{
    assert_int_equal(locking_shell("\"$PAWL\" --server $FEW lock --ttl 600ms a -- " WORK), 4);
    locking_expect_text("tokens", "1\n2\n3\n");
    locking_expect_text("asked", "1\n2\n");
    locking_expect_words("err", "pawl: ended the command: the lock has reached its extension "
                                "limit\npawl: got a: token 2\n");
}

/* Another one waits for the lock, and has it in between. */
static void others_have_their_turn_before_the_command_starts_anew(void **state)
{
    assert_int_equal(locking_shell("export PAWL_SERVER=$FEW; "
                                   "{ \"$PAWL\" lock -n --ttl 600ms a -- " WORK
                                   "; echo $? >code; } & "
                                   "while ! [ -s tokens ]; do sleep 0.01; done; "
                                   "\"$PAWL\" lock a sh -c 'echo $PAWL_TOKEN >other'; wait"),
                     0);
    locking_expect_text("other", "2\n");
    locking_expect_text("tokens", "1\n3\n4\n");
    locking_expect_text("code", "4\n");
}

static void command_is_not_started_anew_where_it_is_to_run_once(void **state)
{
    assert_int_equal(locking_shell("\"$PAWL\" --server $FEW lock --once --ttl 600ms a -- " WORK),
                     EXIT_LOST);
    locking_expect_text("tokens", "1\n");
    assert_int_equal(locking_shell("\"$PAWL\" --server $FEW lock -n a true"), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin_few, locking_end)

static const struct CMUnitTest cases[] = {
    CASE(command_is_started_anew_under_a_fresh_token_at_the_cap),
    CASE(others_have_their_turn_before_the_command_starts_anew),
    CASE(command_is_not_started_anew_where_it_is_to_run_once),
};

CASE_MAIN(cases, NULL, NULL)
