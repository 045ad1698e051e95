/* Files that are read while somebody writes them: a line or a block that is cut may be valid, and
 * say something else than was meant. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/tls.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUN_MS = 20000,
    COMMAND_BYTES = 4096,
    CUTS = 12, /* of a file */
};

static char *printed;

static int teardown(void **state)
{
    free(printed);
    printed = NULL;
    return workdir_teardown(state);
}

/* Runs a line of shell in the folder, where $PAWLD and $PAWL are the programs. */
static int run(const char *command)
{
    char line[COMMAND_BYTES];
    char *pawld = pawl_program("pawld"), *pawl = pawl_program("pawl");
    (void)snprintf(line, sizeof(line), "PAWLD='%s'; PAWL='%s'; umask 077; cd %s && %s", pawld, pawl,
                   workdir.path, command);
    (void)remove(workdir.said);
    const int status =
        process_run((const char *const[]){"sh", "-c", line, NULL}, workdir.said, RUN_MS);
    free(printed);
    printed = text_read(workdir.said, 0);
    free(pawld);
    free(pawl);
    return status;
}

static void write_bytes(const char *name, const char *text, size_t len)
{
    char path[WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, name, path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static char *read_text(const char *name)
{
    char path[WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, name, path);
    return text_read(path, 0);
}

/* @command succeeds with the file @name as it is, and refuses it where it is cut within a line: at
 * the end, and at places that are spread over it. @within: also at ends of lines. */
static void expect_cuts_refused(const char *name, const char *command, bool within)
{
    char *text = read_text(name);
    const size_t len = strlen(text);
    if (run(command) != 0)
        fail_msg("%s is refused: %s", name, printed);
    for (size_t i = 0; i < CUTS; i++) {
        size_t cut = len - 1 - i * (len - 2) / CUTS;
        while (cut > 1 && text[cut - 1] == '\n' && (!within || text[cut - 2] == '-'))
            cut--;
        write_bytes(name, text, cut);
        if (run(command) == 0 || strstr(printed, "truncated") == NULL)
            fail_msg("%s, %zu of %zu bytes: %s", name, cut, len, printed);
    }
    write_bytes(name, text, len);
    free(text);
}

/* prefix=o would reach more than prefix=orders/. */
static void key_file_that_is_cut_is_refused(void **state)
{
    assert_int_equal(run("$PAWL key new --role read --prefix jobs/ --file keys && "
                         "$PAWL key new --role lock --prefix orders/ --file keys"),
                     0);
    expect_cuts_refused("keys", "$PAWLD --check --keys keys", false);
}

/* The line would look whole with an end that the file did not have. */
static void key_file_that_is_cut_gets_no_further_key(void **state)
{
    assert_int_equal(run("$PAWL key new --role lock --prefix orders/ --id first --file keys"), 0);
    char *text = read_text("keys");
    write_bytes("keys", text, strlen(text) - strlen("rders/\n"));
    assert_int_not_equal(run("$PAWL key new --role lock --prefix jobs/ --file keys"), 0);
    assert_non_null(strstr(printed, "truncated"));
    free(text);
}

/* max-waiters = 1000 becomes 100. */
static void configuration_that_is_cut_is_refused(void **state)
{
    static const char text[] = "# of the fleet\nprobe-ms = 500\nmax-waiters = 1000\n";
    write_bytes("conf", text, strlen(text));
    expect_cuts_refused("conf", "$PAWLD --check --config conf", false);
}

static void password_file_that_is_cut_is_refused(void **state)
{
    write_bytes("password", "correct horse\n", strlen("correct horse\n"));
    expect_cuts_refused("password",
                        "$PAWLD --check --master redis://127.0.0.1:1 --master-password-file "
                        "password",
                        false);
}

static void key_file_of_the_command_line_that_is_cut_is_refused(void **state)
{
    assert_int_equal(run("$PAWL key new --role lock --prefix '*' >key 2>/dev/null"), 0);
    /* No process listens: the key was taken where it is not mentioned. */
    expect_cuts_refused("key",
                        "{ $PAWL --server http://127.0.0.1:1 --key-file key fleet 2>&1; } | tee "
                        "said; ! grep -q 'key-file' said",
                        false);
}

static void certificates_that_are_cut_are_refused(void **state)
{
    static const char check[] =
        "$PAWLD --check --tls-cert chain.pem --tls-key leaf.key --tls-client-ca cas.pem";
    assert_int_equal(
        run("ec='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2'\n"
            "openssl req -x509 $ec " TLS_AUTHORITY " -keyout ca.key -out ca.pem -subj /CN=ca && "
            "openssl req -x509 $ec " TLS_AUTHORITY " -keyout b.key -out b.pem -subj /CN=b && "
            "openssl req -x509 $ec " TLS_SERVICE " -CA ca.pem -CAkey ca.key -keyout leaf.key "
            "-out leaf.pem -subj /CN=leaf && cat leaf.pem ca.pem >chain.pem && "
            "cat ca.pem b.pem >cas.pem"),
        0);
    expect_cuts_refused("chain.pem", check, true);
    expect_cuts_refused("leaf.key", check, true);
    expect_cuts_refused("cas.pem", check, true);
}

#define HALF_CASE(name) cmocka_unit_test_setup_teardown(name, workdir_setup, teardown)

static const struct CMUnitTest cases[] = {
    HALF_CASE(key_file_that_is_cut_is_refused),
    HALF_CASE(key_file_that_is_cut_gets_no_further_key),
    HALF_CASE(configuration_that_is_cut_is_refused),
    HALF_CASE(password_file_that_is_cut_is_refused),
    HALF_CASE(key_file_of_the_command_line_that_is_cut_is_refused),
    HALF_CASE(certificates_that_are_cut_are_refused),
};

CASE_MAIN(cases, NULL, NULL)
