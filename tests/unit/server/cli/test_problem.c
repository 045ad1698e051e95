/* The words of `pawl` about a problem, as a server sends it: in words of options and verbs. The
 * client that was told it is played here. */
#include "api/http/problem.h"
#include "server/cli/problem.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

static char problem[API_PROBLEM_BODY_MAX];
static const char reason[] = "The words of the server.";

const char *pawl_client_problem(const pawl_client *client)
{
    return problem;
}

const char *pawl_client_reason(const pawl_client *client)
{
    return reason;
}

static char said[CLI_REASON_MAX];

/* A problem with no members of its own. */
static void fail_with(enum api_problem kind)
{
    struct api_writer writer;
    api_problem_begin(&writer, problem, kind, NULL);
    api_write_end(&writer);
    problem[writer.len] = '\0';
    cli_problem_reason(NULL, NULL, said);
}

static void fail_with_text(const char *text)
{
    (void)snprintf(problem, sizeof(problem), "%s", text);
    cli_problem_reason(NULL, NULL, said);
}

static void each_problem_that_pawl_knows_says_what_to_type(void **state)
{
    static const struct {
        enum api_problem problem;
        const char *sentence;
    } rows[] = {
        {API_PROBLEM_KEY_REQUIRED,
         "the server asks for a key: name its file with --key-file, or set PAWL_KEY"},
        {API_PROBLEM_RATE, "the key has used up its rate of calls: retry later"},
        {API_PROBLEM_NO_QUORUM, "too few masters answered or could vote: retry later. pawl fleet "
                                "shows the problems of the "
                                "masters"},
        {API_PROBLEM_NOT_READY,
         "the server has no majority of its masters: pawl fleet shows the reason"},
        {API_PROBLEM_TOO_SLOW,
         "the lease ended before the masters had answered: retry, or use a longer --ttl"},
        {API_PROBLEM_BUSY, "the server has reached its limit of calls: retry later"},
        {API_PROBLEM_WAITERS, "the queue of waiters is full: retry later, or use --nonblock"},
        {API_PROBLEM_LOCK_LOST, "the lock is no longer held under this lock id and token: stop the "
                                "work, and acquire the lock again"},
        {API_PROBLEM_TOKEN_MISMATCH,
         "another grant has the lock now, and nothing was changed: check with pawl show"},
        {API_PROBLEM_NO_COUNTER,
         "this counter does not exist: check its spelling, or start it with pawl counter next"},
        {API_PROBLEM_CROSS_SITE, "the server does not accept the name in --server: use its IP "
                                 "address, or start pawld with --host and this name. A proxy "
                                 "must not change the header Host"},
        {API_PROBLEM_NOT_FOUND,
         "the server does not know this path: is --server the address of a pawld?"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fail_with(rows[i].problem);
        assert_string_equal(said, rows[i].sentence);
    }
}

/* Which the server says best: of these pawl knows some by a member that is not there. */
static void any_other_problem_is_told_in_the_words_of_the_server(void **state)
{
    static const enum api_problem others[] = {API_PROBLEM_INVALID, API_PROBLEM_NOT_ALLOWED,
                                              API_PROBLEM_HELD, API_PROBLEM_NO_EXPIRY,
                                              API_PROBLEM_INTERNAL};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        fail_with(others[i]);
        assert_string_equal(said, reason);
    }
}

static void what_is_no_problem_of_pawl_is_told_as_it_came(void **state)
{
    static const char *const texts[] = {
        "", "<html>", "[]", "{\"type\":\"about:blank\"}", "{\"type\":\"busy\"}", "{\"type\":7}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fail_with_text(texts[i]);
        assert_string_equal(said, reason);
    }
}

/* The server says which permission it lacks at a master. */
static void listing_that_a_master_refused_is_told_in_the_words_of_the_server(void **state)
{
    fail_with_text("{\"type\":\"urn:pawl:no-quorum\",\"masters\":[\"granted\",\"refused\"]}");
    assert_string_equal(said, reason);
    fail_with_text("{\"type\":\"urn:pawl:no-quorum\",\"masters\":[\"refused\"],"
                   "\"resource\":\"a\"}");
    assert_non_null(strstr(said, "too few masters answered or could vote"));
    fail_with_text("{\"type\":\"urn:pawl:no-quorum\",\"masters\":[\"down\",\"timeout\"]}");
    assert_non_null(strstr(said, "too few masters answered or could vote"));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(each_problem_that_pawl_knows_says_what_to_type),
    cmocka_unit_test(any_other_problem_is_told_in_the_words_of_the_server),
    cmocka_unit_test(what_is_no_problem_of_pawl_is_told_as_it_came),
    cmocka_unit_test(listing_that_a_master_refused_is_told_in_the_words_of_the_server),
};

CASE_MAIN(cases, NULL, NULL)
