/* The listeners of pawld with and without keys, and how a key file is made and refused. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/keyed.h"
#include "tests/system/keys/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    END_MS = 20000,
};

static void expect_refusal(const char *const options[], const char *says)
{
    const int status = pawld_run_at(NULL, workdir.data, options, workdir.said);
    char *said = text_read(workdir.said, 0);
    if (status != 2 || strstr(said, says) == NULL || strchr(said, '\n') != said + strlen(said) - 1)
        fail_msg("ended with %d and said: %s", status, said);
    assert_int_not_equal(access(workdir.data, F_OK), 0); /* nothing was begun */
    free(said);
}

static void without_keys_no_public_address_is_served(void **state)
{
    static const char *const addresses[] = {":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
        expect_refusal((const char *const[]){"--listen", addresses[i], NULL},
                       "every caller that reaches this address could make every call, because "
                       "there is no key file");
}

static void serve_publicly(const char *const options[])
{
    char *program = pawl_program("pawld");
    const char *argv[16] = {program, "--data", workdir.data, "--listen", "0.0.0.0:0"};
    for (int i = 0; options[i] != NULL; i++)
        argv[5 + i] = options[i];
    struct process *process = process_start(argv, workdir.said);
    process_wait_line(process, "listening on 0\\.0\\.0\\.0:[0-9]+", END_MS, NULL, 0);
    assert_int_equal(process_stop(process), 0);
    free(program);
}

static void public_address_is_served_with_keys_or_where_it_is_open(void **state)
{
    keyed_new(keys.file, "--role admin --prefix '*'", keys.admin);
    serve_publicly((const char *const[]){"--open", NULL});
    serve_publicly((const char *const[]){"--keys", keys.file, NULL});
}

static void wrong_key_file_is_refused_by_its_line(void **state)
{
    char says[WORKDIR_PATH_BYTES + 64];
    keyed_new(keys.file, "--role admin --prefix '*'", keys.admin);
    FILE *file = fopen(keys.file, "a");
    assert_non_null(file);
    fputs("# a comment\nnightly role=lock\n", file);
    fclose(file);
    snprintf(says, sizeof(says), "%s:3: hash= is missing", keys.file);
    expect_refusal((const char *const[]){"--keys", keys.file, NULL}, says);
    expect_refusal((const char *const[]){"--check", "--keys", keys.file, NULL}, says);
    assert_int_equal(chmod(keys.file, 0644), 0);
    expect_refusal((const char *const[]){"--keys", keys.file, NULL}, "chmod o-r");
    expect_refusal((const char *const[]){"--keys", "/nowhere/keys", NULL}, "No such file");
}

/* A refused call of `pawl key new` leaves the file as it is. */
static void key_file_is_replaced_as_a_whole_or_not_at_all(void **state)
{
    keyed_new(keys.file, "--role lock --prefix orders/ --id owner", keys.owner);
    char *before = text_read(keys.file, 0);
    char *said = NULL;
    static const char *const refused[] = {
        "$PAWL key new --file $DIR/keys --role lock --prefix a/ --id owner",
        "$PAWL key new --file $DIR/keys --role lock --prefix 'a b'",
        "$PAWL key new --file $DIR/keys --role lock --prefix $'a\\nb hash='",
        "$PAWL key new --file $DIR/keys --role all --prefix a/",
        "$PAWL key new --file $DIR/keys --role lock",
        "$PAWL key new --file $DIR/keys --role lock --prefix a/ --id UPPER",
        "$PAWL key new --file $DIR/keys --role lock --prefix a/ --rate 0",
        "$PAWL key new --file $DIR/keys --role lock --prefix a/ --subject $'a\\nb'",
        "touch $DIR/keys.new; $PAWL key new --file $DIR/keys --role lock --prefix a/",
        "$PAWL key",
        "$PAWL key old",
        "$PAWL key new more",
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const int status = keys_run(refused[i], "", &said);
        if (status != 125 || strncmp(said, "pawl", 4) != 0)
            fail_msg("%s ended with %d and said: %s", refused[i], status, said);
        free(said);
    }
    char *after = text_read(keys.file, 0);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void line_and_key_go_to_two_places(void **state)
{
    keys_expect_said("$PAWL key new --role lock --prefix a/ --id some-id 2>/dev/null", "", 0,
                     "pawl_some-id_");
    char *said = text_read(workdir.said, 0);
    assert_int_equal(strlen(said), strlen("pawl_some-id_") + 43 + 1);
    free(said);
    keys_expect_said("$PAWL key new --role lock --prefix a/ --id some-id 2>&1 >/dev/null", "", 0,
                     "\nsome-id hash=");
}

static const struct CMUnitTest cases[] = {
    KEYS_ALONE(without_keys_no_public_address_is_served),
    KEYS_ALONE(public_address_is_served_with_keys_or_where_it_is_open),
    KEYS_ALONE(wrong_key_file_is_refused_by_its_line),
    KEYS_ALONE(key_file_is_replaced_as_a_whole_or_not_at_all),
    KEYS_ALONE(line_and_key_go_to_two_places),
};

CASE_MAIN(cases, NULL, NULL)
