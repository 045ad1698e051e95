/* The verbs of `pawl` but lock, over a pawld: what they print, and exit codes. */
#include "tests/lib/case.h"
#include "tests/system/calls.h"
#include "tests/system/cli/locking.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_LOST = 123,
    EXIT_NOT_ACQUIRED = 124,
    EXIT_ERROR = 125,
};

/* Runs @script, whose output is in the file "out" then. Fails the test unless it exits with
 * @status. */
static void expect_exit(const char *script, int status)
{
    char text[LOCKING_SCRIPT_BYTES];
    const int len = snprintf(text, sizeof(text), "{ %s; } >out 2>err", script);
    assert_in_range(len, 1, (int)sizeof(text) - 1);
    const int exited = locking_shell(text);
    if (exited != status)
        fail_msg("%s: %d, not %d", script, exited, status);
}

static void expect_error(const char *script, int status, const char *sentence)
{
    expect_exit(script, status);
    char *err = locking_text("err");
    if (strstr(err, sentence) == NULL)
        fail_msg("%s: it said %s", script, err);
    free(err);
}

/* `pawl @words` is refused with @sentence. */
static void expect_refused(const char *words, const char *sentence)
{
    char script[LOCKING_SCRIPT_BYTES];
    snprintf(script, sizeof(script), "\"$PAWL\" %s", words);
    expect_error(script, EXIT_ERROR, sentence);
}

static void expect_output(const char *script, const char *expected)
{
    expect_exit(script, 0);
    char *out = locking_text("out");
    if (strcmp(out, expected) != 0)
        fail_msg("%s: it printed %s", script, out);
    free(out);
}

static void expect_line(const char *script, const char *part)
{
    expect_exit(script, 0);
    char *out = locking_text("out");
    if (strstr(out, part) == NULL)
        fail_msg("%s: it printed %s", script, out);
    free(out);
}

static void lock_is_acquired_extended_and_released_by_three_processes(void **state)
{
    expect_exit("eval \"$(\"$PAWL\" acquire --shell jobs/a)\" && \"$PAWL\" extend --ttl 2m --json "
                ">extended && \"$PAWL\" lock -n jobs/a true; [ $? = 124 ] && \"$PAWL\" release",
                0);
    char *extended = locking_text("extended");
    assert_non_null(strstr(extended, "\"ttl_ms\":120000"));
    assert_non_null(strstr(extended, "{\"resource\":\"jobs/a\",\"token\":1}"));
    free(extended);
    expect_exit("\"$PAWL\" lock -n jobs/a true", 0);
}

static void several_names_are_acquired_and_released_together(void **state)
{
    expect_exit("\"$PAWL\" acquire --json a b >grant", 0);
    expect_line("cat grant", "\"grants\":[{\"resource\":\"a\",\"token\":1},{\"resource\":\"b\"");
    expect_error("\"$PAWL\" acquire -n b", EXIT_NOT_ACQUIRED, "pawl: b is held by ");
    expect_exit(
        "id=$(sed 's/.*\"lock_id\":\"//; s/\".*//' grant); \"$PAWL\" release --lock-id $id a b", 0);
    expect_exit("\"$PAWL\" acquire -n a b", 0);
}

static void eval_of_a_refusal_ends_and_leaves_nothing_of_an_earlier_grant(void **state)
{
    expect_exit("\"$PAWL\" acquire a; PAWL_TOKEN=7; export PAWL_TOKEN; "
                "(set -e; eval \"$(\"$PAWL\" acquire -n --shell a)\"; echo on >went); "
                "[ $? = 124 ] && eval \"$(\"$PAWL\" acquire -n --shell a)\"; "
                "[ $? = 124 ] && [ -z \"$PAWL_TOKEN\" ] && ! [ -e went ]",
                0);
}

static void tokens_of_several_names_are_for_a_shell_too(void **state)
{
    expect_output("PAWL_RESOURCE=old; PAWL_TOKEN=7; eval \"$(\"$PAWL\" acquire --shell a b)\"; "
                  "echo $PAWL_TOKENS$PAWL_RESOURCE$PAWL_TOKEN; \"$PAWL\" release a b",
                  "{\"a\":1,\"b\":1}\n");
}

static void grant_that_cannot_be_printed_is_given_back(void **state)
{
    expect_refused("acquire a 3>/dev/full >&3", "pawl: cannot write to standard output");
    expect_refused("acquire a >&-", "pawl: cannot write to standard output");
    expect_exit("\"$PAWL\" lock -n a true", 0);
}

static void table_of_a_grant_has_its_token_and_its_lock_id(void **state)
{
    expect_line("\"$PAWL\" acquire a", "NAME  TOKEN  VALID FOR  LOCK ID\na     1      ");
}

static void lock_that_is_not_held_any_more_is_lost(void **state)
{
    static const char gone[] = "export PAWL_RESOURCE=a PAWL_TOKEN=1 "
                               "PAWL_LOCK_ID=not-the-id-of-any-lock-of-mine; ";
    char script[LOCKING_SCRIPT_BYTES];
    snprintf(script, sizeof(script), "%s\"$PAWL\" release", gone);
    expect_error(script, EXIT_LOST, "no longer held under this lock id");
    snprintf(script, sizeof(script), "%s\"$PAWL\" extend", gone);
    expect_error(script, EXIT_LOST, "no longer held under this lock id and token: stop");
}

/* Else it would be told that a lock is not held, which is. */
static void lock_id_of_another_lock_is_not_taken_from_the_environment(void **state)
{
    static const char has_a[] = "eval \"$(\"$PAWL\" acquire --shell a)\"; ";
    char script[LOCKING_SCRIPT_BYTES];
    snprintf(script, sizeof(script), "%s\"$PAWL\" acquire b >/dev/null; \"$PAWL\" release b",
             has_a);
    expect_error(script, EXIT_ERROR,
                 "pawl: PAWL_LOCK_ID belongs to another lock, not to b: give --lock-id");
    expect_refused("lock --quiet c \"$PAWL\" extend d", "another lock, not to d");
    expect_exit("\"$PAWL\" lock --all e f -- sh -c '\"$PAWL\" release e f'", 0);
    snprintf(script, sizeof(script), "%s\"$PAWL\" release a",
             "eval \"$(\"$PAWL\" acquire --shell g)\"; ");
    expect_error(script, EXIT_ERROR, "another lock, not to a");
}

static void lock_of_somebody_else_is_broken(void **state)
{
    expect_exit("\"$PAWL\" acquire --why hangs a && \"$PAWL\" acquire b", 0);
    expect_output("\"$PAWL\" break --yes a", "broke a, token 1\n");
    expect_output("\"$PAWL\" --json break -y b", "{\"released\":true,\"token\":1}\n");
    expect_exit("\"$PAWL\" lock -n a sh -c '[ $PAWL_TOKEN -gt 1 ]'", 0);
    expect_error("\"$PAWL\" break --yes a", EXIT_LOST, "pawl: a is not held\n");
}

static void break_without_a_terminal_has_to_say_yes(void **state)
{
    expect_exit("\"$PAWL\" acquire a", 0);
    expect_error("echo yes | \"$PAWL\" break a", EXIT_ERROR, "not a terminal: confirm with --yes");
    expect_line("\"$PAWL\" --json show a", "\"held\":true");
}

static void break_of_another_token_breaks_nothing(void **state)
{
    expect_exit("\"$PAWL\" acquire a", 0);
    expect_refused("break --yes --token 7 a",
                   "a is held under token 1, not 7, so nothing was broken");
    expect_line("\"$PAWL\" --json show a", "\"held\":true");
    expect_output("\"$PAWL\" break --yes --token 1 a", "broke a, token 1\n");
}

static void holder_of_a_broken_lock_is_told(void **state)
{
    expect_error("eval \"$(\"$PAWL\" acquire --shell a)\"; \"$PAWL\" break -y a; \"$PAWL\" extend",
                 EXIT_LOST, "pawl: a was broken by an operator\n");
}

static void lock_is_shown_with_its_holder(void **state)
{
    expect_exit("\"$PAWL\" acquire --why 'the nightly run' orders/42", 0);
    expect_line("\"$PAWL\" show orders/42", "orders/42  1      29.");
    expect_line("\"$PAWL\" show orders/42", " s  the nightly run  0\n");
    expect_line("\"$PAWL\" --json show orders/42", "\"held\":true,\"token\":1");
    expect_output("\"$PAWL\" show free",
                  "NAME  TOKEN  LEFT  HELD BY  WAITING\nfree               nobody\n");
}

/* The lines come one by one, through a pipe. */
static void watch_prints_who_holds_a_lock_and_each_change(void **state)
{
    expect_exit("mkfifo lines; \"$PAWL\" watch a >lines & exec 5<lines; read -r line <&5; "
                "echo \"$line\"; \"$PAWL\" acquire --shell --why me a >grant; read -r line <&5; "
                "echo \"$line\"; eval \"$(cat grant)\"; \"$PAWL\" release; read -r line <&5; "
                "echo \"$line\"; kill $!; wait $!; [ $? = 143 ]",
                0);
    locking_expect_text("out", "a: free\na: held under token 1 by me\na: free\n");
}

static void watch_of_a_machine_is_a_line_of_json_for_each_change(void **state)
{
    expect_exit("\"$PAWL\" watch --json --until held a >seen & "
                "until [ -s seen ]; do sleep 0.02; done; "
                "\"$PAWL\" acquire --json --why me a >grant && wait $! && cat seen",
                0);
    locking_expect_text("out", "{\"resource\":\"a\",\"held\":false}\n"
                               "{\"resource\":\"a\",\"held\":true,\"token\":1,"
                               "\"owner\":\"me\"}\n");
}

static void watch_ends_as_soon_as_the_lock_is_as_asked(void **state)
{
    expect_output("\"$PAWL\" watch --until free a", "a: free\n");
    expect_output("\"$PAWL\" acquire --ttl 300ms --why me a >grant; "
                  "\"$PAWL\" watch --until free a",
                  "a: held under token 1 by me\na: free\n");
    expect_refused("watch --until gone a", "pawl: --until must be free or held, not 'gone'\n");
    expect_refused("watch a 3>/dev/full >&3", "pawl: cannot write to standard output");
}

static void locks_are_listed_beyond_one_page(void **state)
{
    enum {
        LOCKS = 1003 /* a page has 1,000 at the most */
    };
    char name[32];
    for (int i = 0; i < LOCKS; i++) {
        snprintf(name, sizeof(name), "many/%d", i);
        (void)call_grant(locking.service.port, name, NULL);
    }
    (void)call_grant(locking.service.port, "other", NULL);
    expect_output("\"$PAWL\" list many/ | wc -l", "1004\n");
    expect_output("\"$PAWL\" list --json | sort -u | wc -l", "1004\n");
}

static void counter_gives_each_value_once(void **state)
{
    expect_output("\"$PAWL\" counter next x", "1\n");
    expect_output("\"$PAWL\" counter next -c 100 x", "2 101\n");
    expect_output("\"$PAWL\" counter show x", "101\n");
    expect_output("\"$PAWL\" counter next --json x",
                  "{\"name\":\"x\",\"value\":102,\"count\":1}\n");
    expect_output("\"$PAWL\" counter list", "NAME  VALUE\nx     102\n");
    expect_refused("counter show y", "start it with pawl counter next\n");
}

static void fleet_is_shown_with_its_masters(void **state)
{
    expect_line("\"$PAWL\" fleet", "grants locks: the only master votes\n");
    expect_line("\"$PAWL\" fleet", "active");
    expect_line("\"$PAWL\" fleet --json", "\"ready\":true");
}

static void finding_of_a_master_has_its_name(void **state)
{
    char script[LOCKING_SCRIPT_BYTES];
    fleet_start(1, REDIS_VOLATILE);
    snprintf(script, sizeof(script), "\"$PAWL\" --server http://127.0.0.1:%u fleet",
             (unsigned)pawld_start_new(fleet).port);
    expect_line(script, ": no-aof: ");
    assert_int_equal(fleet_teardown(state), 0);
}

/* Not those of HTTP, which the server sends. */
static void refusals_are_told_in_words_of_the_command_line(void **state)
{
    expect_refused("acquire --ttl 2h a",
                   "pawl: the lease is longer than the fleet allows: use --ttl 5m or less\n");
    expect_refused("lock --ttl 2h a true", "use --ttl 5m");
    expect_refused("--server $PAWL_SERVER/x show a", "is --server the address of a pawld?\n");
    expect_refused("--server http://pawl.localhost:${PAWL_SERVER##*:} show a",
                   "pawl: the server does not accept the name in --server: ");
}

static void names_that_none_can_have_are_called_names(void **state)
{
    static const char *const words[] = {"lock $n true",    "lock --all a $n -- true",
                                        "acquire $n",      "acquire a $n",
                                        "show $n",         "watch $n",
                                        "break $n",        "release $n",
                                        "extend $n",       "counter next $n",
                                        "counter show $n", "list $n",
                                        "counter list $n", "lock --why $n a true"};
    char script[LOCKING_SCRIPT_BYTES];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        snprintf(script, sizeof(script), "n=$(printf '\\377'); \"$PAWL\" %s", words[i]);
        expect_error(script, EXIT_ERROR, "pawl: '\\xff' is not a valid ");
    }
    expect_error("PAWL_RESOURCE=$(printf '\\377') PAWL_LOCK_ID=x \"$PAWL\" release", EXIT_ERROR,
                 "is not a valid name in PAWL_RESOURCE: ");
    expect_refused("acquire --ttl 99ms a", "--ttl must be at least 100ms, not '99ms'");
}

static void json_is_refused_where_it_would_mean_nothing(void **state)
{
    static const char *const words[] = {"--json lock a -- touch ran", "lock --json a touch ran",
                                        "--json guard sql mariadb", "--json acquire --shell a",
                                        "--json key new --role read --prefix a"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        expect_refused(words[i], "pawl: this command does not accept --json: ");
    }
    expect_exit("[ ! -e ran ] && [ ! -s out ]", 0);
}

static void help_names_json_only_where_it_is_taken(void **state)
{
    expect_exit("for verb in guard key lock rwlock semaphore top; do"
                "  \"$PAWL\" $verb --help >help && ! grep -q -e --json help || exit 1;"
                "done; \"$PAWL\" list --help | grep -q -e --json",
                0);
}

static void verb_that_is_not_there_is_guessed(void **state)
{
    static const char *const rows[][2] = {
        {"lokc", "lock?"},     {"lok", "lock?"},       {"unlock", "release?"},
        {"relase", "release"}, {"acquier", "acquire"}, {"status", "show NAME, or pawl fleet?"},
        {"help lits", "list"}};
    char sentence[LOCKING_PATH_BYTES];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(sentence, sizeof(sentence), "Did you mean pawl %s", rows[i][1]);
        expect_refused(rows[i][0], sentence);
    }
    expect_refused("frob", "pawl: there is no verb 'frob'; see 'pawl --help'\n");
}

/* Also an option without its value. getopt names the option; pawl names the help. */
static void wrong_option_names_the_help_of_its_verb(void **state)
{
    expect_refused("--frob show a", "pawl: see 'pawl --help'\n");
    expect_refused("lock --frob a true", "pawl lock: see 'pawl lock --help'\n");
    expect_refused("acquire a --ttl", "pawl acquire: see 'pawl acquire --help'\n");
    expect_refused("show", "pawl: the lock name is missing; see 'pawl show --help'\n");
}

static void acquire_runs_no_command(void **state)
{
    expect_refused("acquire a -- make", "runs no command, but 'make' follows");
    expect_exit("\"$PAWL\" acquire -- a b", 0);
}

/* The server's words are there where pawl has none of its own. */
static void refusal_that_pawl_does_not_know_is_told_as_it_is(void **state)
{
    expect_refused("list 'a b'", "pawl: No resource can begin with this prefix: ");
}

/* Has "pawl" speak to @service, and not to the pawld of the case. */
static void expect_error_of(struct pawl_service service, const char *words, const char *sentence)
{
    char script[LOCKING_SCRIPT_BYTES];
    snprintf(script, sizeof(script), "PAWL_SERVER=http://127.0.0.1:%u \"$PAWL\" %s",
             (unsigned)service.port, words);
    expect_error(script, EXIT_ERROR, sentence);
}

static void masters_that_are_missing_are_a_matter_of_pawl_fleet(void **state)
{
    fleet_start(1, REDIS_VOLATILE); /* never made a fleet */
    expect_error_of(
        pawld_start(fleet, NULL), "show a",
        "pawl: the server has no majority of its masters: pawl fleet shows the reason\n");
    assert_int_equal(fleet_teardown(state), 0);
}

static void majority_that_is_down_is_a_matter_of_pawl_fleet(void **state)
{
    fleet_start(3, REDIS_VOLATILE);
    const struct pawl_service service = pawld_start_new(fleet);
    redis_fleet_kill(fleet, 0);
    redis_fleet_kill(fleet, 1);
    expect_error_of(service, "show a",
                    "pawl: too few masters answered or could vote: retry later. pawl fleet shows "
                    "the problems of the masters\n");
    assert_int_equal(fleet_teardown(state), 0);
}

static void mistakes_are_one_sentence(void **state)
{
    static const char *const words[] = {
        "acquire",
        "acquire --ttl often a",
        "acquire -w -1 a",
        "extend",
        "extend a b",
        "extend --lock-id i --token x a",
        "release",
        "show",
        "show a b",
        "watch",
        "watch a b",
        "list a b",
        "fleet a",
        "counter",
        "counter next",
        "counter next -c 0 x",
        "counter frob x",
        "--json",
        "break",
        "break a b",
        "break --token 0 a",
        "break --token x a",
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        expect_refused(words[i], "pawl");
        char *err = locking_text("err");
        if (strchr(err, '\n') != err + strlen(err) - 1)
            fail_msg("%s: it said %s", words[i], err);
        free(err);
    }
}

/* Each has its own sentence, that names what is wrong. */
static void wrong_server_and_wrong_key_are_told_apart(void **state)
{
    expect_refused(
        "--server ftp://x show a",
        "pawl: 'ftp://x' is not a valid URL of a server, such as http://127.0.0.1:7380\n");
    expect_error("PAWL_SERVER='http://a localhost:7380' \"$PAWL\" show a", EXIT_ERROR,
                 "pawl: PAWL_SERVER: 'localhost:7380' is not a valid URL of a server");
    expect_error("PAWL_KEY='a b' \"$PAWL\" show a", EXIT_ERROR,
                 "pawl: PAWL_KEY: a key must be one word of at most 127 bytes\n");
    expect_error("umask 077; echo a b >key; \"$PAWL\" --key-file key show a", EXIT_ERROR,
                 "pawl: --key-file key: its first line must be a key, pawl_...\n");
    expect_error("PAWL_CA_FILE=$(printf %05000d 0) \"$PAWL\" show a", EXIT_ERROR,
                 "pawl: the path of PAWL_CA_FILE has more than 4095 bytes\n");
}

static void help_and_version_are_verbs_too(void **state)
{
    expect_exit("\"$PAWL\" help >a && \"$PAWL\" --help >b && cmp a b", 0);
    expect_exit("\"$PAWL\" help counter >a && \"$PAWL\" counter --help >b && cmp a b", 0);
    expect_exit("\"$PAWL\" version >a && \"$PAWL\" --version >b && cmp a b", 0);
}

static void help_of_every_verb_fits_a_screen(void **state)
{
    expect_exit(
        "for verb in '' acquire break counter extend fleet list lock release show watch; do "
        "[ $(\"$PAWL\" $verb --help | wc -l) -le 35 ] || exit 1; done",
        0);
}

static void guard_of_a_database_is_printed_without_a_server(void **state)
{
    expect_line("PAWL_SERVER=http://127.0.0.1:1 \"$PAWL\" guard sql postgresql",
                "CREATE OR REPLACE FUNCTION pawl_claim(resource text, token bigint)");
    expect_line("\"$PAWL\" guard sql postgresql | tail -n 1", "COMMIT;");
    expect_line("\"$PAWL\" guard sql mariadb", "PROCEDURE pawl_claim");
}

static void check_of_a_guard_is_printed_without_a_server(void **state)
{
    expect_line("PAWL_SERVER=http://127.0.0.1:1 \"$PAWL\" guard check postgresql",
                "SET LOCAL search_path = pg_catalog, pg_temp;");
    expect_line("\"$PAWL\" guard check mariadb", "information_schema.TRIGGERS");
    expect_line("\"$PAWL\" guard check sqlite", "main.sqlite_schema");
    expect_refused("guard check oracle", "there is no guard for 'oracle'");
    expect_refused("guard sql sqlite", "there is no guard for 'sqlite'");
}

static void guard_that_is_not_there_is_named(void **state)
{
    expect_refused("guard sql oracle", "there is no guard for 'oracle'");
    expect_refused("guard", "guard takes the word sql or the word check");
    expect_refused("guard sql postgresql now", "takes two words");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, locking_begin, locking_end)

static const struct CMUnitTest cases[] = {
    CASE(guard_of_a_database_is_printed_without_a_server),
    CASE(check_of_a_guard_is_printed_without_a_server),
    CASE(guard_that_is_not_there_is_named),
    CASE(lock_is_acquired_extended_and_released_by_three_processes),
    CASE(several_names_are_acquired_and_released_together),
    CASE(eval_of_a_refusal_ends_and_leaves_nothing_of_an_earlier_grant),
    CASE(tokens_of_several_names_are_for_a_shell_too),
    CASE(grant_that_cannot_be_printed_is_given_back),
    CASE(table_of_a_grant_has_its_token_and_its_lock_id),
    CASE(lock_that_is_not_held_any_more_is_lost),
    CASE(lock_id_of_another_lock_is_not_taken_from_the_environment),
    CASE(lock_of_somebody_else_is_broken),
    CASE(break_without_a_terminal_has_to_say_yes),
    CASE(break_of_another_token_breaks_nothing),
    CASE(holder_of_a_broken_lock_is_told),
    CASE(lock_is_shown_with_its_holder),
    CASE(watch_prints_who_holds_a_lock_and_each_change),
    CASE(watch_of_a_machine_is_a_line_of_json_for_each_change),
    CASE(watch_ends_as_soon_as_the_lock_is_as_asked),
    CASE(locks_are_listed_beyond_one_page),
    CASE(counter_gives_each_value_once),
    CASE(fleet_is_shown_with_its_masters),
    CASE(finding_of_a_master_has_its_name),
    CASE(names_that_none_can_have_are_called_names),
    CASE(json_is_refused_where_it_would_mean_nothing),
    CASE(help_names_json_only_where_it_is_taken),
    CASE(verb_that_is_not_there_is_guessed),
    CASE(wrong_option_names_the_help_of_its_verb),
    CASE(acquire_runs_no_command),
    CASE(refusals_are_told_in_words_of_the_command_line),
    CASE(refusal_that_pawl_does_not_know_is_told_as_it_is),
    CASE(masters_that_are_missing_are_a_matter_of_pawl_fleet),
    CASE(majority_that_is_down_is_a_matter_of_pawl_fleet),
    CASE(mistakes_are_one_sentence),
    CASE(wrong_server_and_wrong_key_are_told_apart),
    CASE(help_and_version_are_verbs_too),
    CASE(help_of_every_verb_fits_a_screen),
};

CASE_MAIN(cases, NULL, NULL)
