/* How pawl and the client libraries send keys, and certificates that stand for keys. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/text.h"
#include "tests/lib/tls.h"
#include "tests/system/keyed.h"
#include "tests/system/keys/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMAND_BYTES = 1024,
};

static void pawl_takes_its_key_from_the_environment_or_a_file(void **state)
{
    keys_expect_said("$PAWL acquire orders/2", keys.owner, 0, "");
    keys_expect_said("$PAWL show orders/2", "", 125,
                     "pawl: the server asks for a key: name its file with --key-file, or set "
                     "PAWL_KEY\n");
    char command[COMMAND_BYTES];
    snprintf(command, sizeof(command),
             "umask 077; echo %s > $DIR/owner.key; $PAWL --key-file $DIR/owner.key show orders/2 "
             "--json",
             keys.owner);
    keys_expect_said(command, "", 0, "\"key\":\"owner\"");
    keys_expect_said("$PAWL lock --key-file $DIR/owner.key orders/3 -- sh -c '$PAWL show orders/3'",
                     "", 0, "orders/3");
    keys_expect_said("chmod o+r $DIR/owner.key; $PAWL --key-file $DIR/owner.key list", "", 125,
                     "chmod o-rwx");
    keys_expect_said("$PAWL --key-file $DIR/none list", "", 125, "No such file");
    keys_expect_said("umask 077; : > $DIR/empty; $PAWL --key-file $DIR/empty list", "", 125,
                     "first line");
}

static void pawl_says_what_the_key_may_not(void **state)
{
    keys_expect_said("$PAWL acquire jobs/1", keys.owner, 125, "No prefix of the key");
    keys_expect_said("$PAWL acquire orders/1", keys.slow, 125, "the key slow has the role read");
    keys_expect_said("$PAWL list", "pawl_owner_wrong", 125,
                     "pawl: the server does not know the key in PAWL_KEY");
    keys_expect_said("umask 077; echo pawl_owner_wrong >$DIR/wrong; $PAWL list --key-file "
                     "$DIR/wrong",
                     keys.owner, 125, "does not know the key in the file of --key-file");
    keys_expect_said("$PAWL list", keys.owner, 125,
                     "pawl: the key owner does not cover all names: use pawl list PREFIX");
    keys_expect_said("$PAWL counter list", keys.owner, 125, "pawl counter list PREFIX");
    keys_expect_said("$PAWL list orders/", keys.owner, 0, "NAME");
}

static void key_is_in_no_list_of_processes(void **state)
{
    keys_expect_said("$PAWL lock orders/4 -- sh -c 'ps -ww -eo args; touch $DIR/seen'; ls $DIR",
                     keys.owner, 0, "seen");
    char *said = text_read(workdir.said, 0);
    const char *secret = keys.owner + strlen("pawl_owner_");
    /* The shell that exports it for this test has it in its own words: they are left out. */
    for (char *line = strtok(said, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strstr(line, secret) != NULL && strstr(line, "export PAWL") == NULL &&
            strstr(line, "PAWL_KEY=") == NULL)
            fail_msg("%s", line);
    free(said);
}

/* Makes an authority and a certificate for @name, in the folder, as @name.pem and @name.key. */
static void make_certificate(const char *name)
{
    char command[COMMAND_BYTES], *said = NULL;
    snprintf(command, sizeof(command),
             "cd $DIR; ec='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
             "[ -e ca.pem ] || openssl req -x509 $ec -days 9 " TLS_AUTHORITY
             " -keyout ca.key -out ca.pem -subj /CN=ca\n"
             "openssl req $ec -keyout '%s.key' -out csr -subj '/CN=%s'\n"
             "openssl x509 -req -in csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 -out "
             "'%s.pem' -extfile <(printf '%%s\\n' subjectAltName=IP:127.0.0.1 "
             "basicConstraints=critical,CA:FALSE keyUsage=critical,digitalSignature)",
             name, name, name);
    if (keys_run(command, "", &said) != 0)
        fail_msg("openssl: %s", said);
    free(said);
}

/* Runs @words of pawl, which shows the certificate of @name. */
static void expect_with_certificate(const char *name, const char *key, const char *words,
                                    int status, const char *says)
{
    char command[COMMAND_BYTES];
    snprintf(command, sizeof(command),
             "cd $DIR; $PAWL --server https://127.0.0.1:%u --ca-file ca.pem --cert '%s.pem' "
             "--cert-key '%s.key' %s",
             (unsigned)keys.pawld.port, name, name, words);
    keys_expect_said(command, key, status, says);
}

static void certificate_is_the_key_of_its_subject(void **state)
{
    char files[4][2 * WORKDIR_PATH_BYTES];
    static const char *const names[] = {"ca.pem", "pawld.pem", "pawld.key"};
    keyed_new(keys.file, "--role lock --prefix orders/ --id by-cert --subject 'job runner'",
              keys.owner);
    keyed_new(keys.file, "--role read --prefix '*' --id reader", keys.other);
    make_certificate("pawld");
    make_certificate("job runner");
    make_certificate("stranger");
    for (int i = 0; i < 3; i++)
        snprintf(files[i], sizeof(files[i]), "%s/%s", workdir.path, names[i]);
    keys.pawld = pawld_start_at(
        workdir.data, (const char *const[]){"--keys", keys.file, "--tls-client-ca", files[0],
                                            "--tls-cert", files[1], "--tls-key", files[2], NULL});
    expect_with_certificate("job runner", "", "acquire --wait 10s orders/1", 0, "orders/1");
    expect_with_certificate("job runner", "", "show orders/1 --json", 0, "\"key\":\"by-cert\"");
    expect_with_certificate("job runner", "", "acquire jobs/1", 125,
                            "No prefix of the key by-cert");
    expect_with_certificate("stranger", "", "show orders/1", 125, "asks for a key");
    /* A key that is sent counts, and none that is wrong is mended by a certificate. */
    expect_with_certificate("job runner", keys.other, "show jobs/1 --json", 0, "\"held\":false");
    expect_with_certificate("job runner", "pawl_x", "show orders/1", 125, "does not know the key");
}

static void python_client_sends_its_key(void **state)
{
    static const char script[] =
        "python3 - <<'EOF'\n"
        "import sys; sys.path.insert(0, '" PAWL_CLIENTS "/python')\n"
        "import pawl\n"
        "with pawl.Client().lock('orders/5', wait=0) as lock: print('token', lock.token)\n"
        "for name, key in (('jobs/1', None), ('orders/6', ''), ('orders/6', 'pawl_owner_x')):\n"
        "    try: pawl.Client(key=key).acquire(name, wait=0)\n"
        "    except pawl.Refused as error: print(error.type, error)\n"
        "try: pawl.Client(key='a b')\n"
        "except pawl.Invalid as error: print(error)\n"
        "EOF";
    keys_expect_said(
        script, keys.owner, 0,
        "token 1\nnot-allowed cannot acquire jobs/1: No prefix of the key owner covers");
    char *said = text_read(workdir.said, 0);
    assert_non_null(strstr(said, "key-required cannot acquire orders/6: Send the key"));
    assert_non_null(strstr(said, "key-required cannot acquire orders/6: The key is unknown"));
    assert_non_null(strstr(said, "a key must be one word"));
    free(said);
}

static void node_client_sends_its_key(void **state)
{
    static const char script[] =
        "command -v node >/dev/null || { echo no node; exit 77; }\n"
        "node --input-type=module - <<'EOF'\n"
        "import { Client } from '" PAWL_CLIENTS "/node/pawl.mjs';\n"
        "await new Client().withLock('orders/7', {}, async (lock) => console.log('token'));\n"
        "for (const [name, key] of [['jobs/1'], ['orders/8', ''], ['orders/8', 'pawl_owner_x']])\n"
        "    await new Client(key === undefined ? {} : { key }).acquire(name, {})\n"
        "        .catch((error) => console.log(error.name, error.code, error.message));\n"
        "try { new Client({ key: 'a b' }); } catch (error) { console.log(error.message); }\n"
        "EOF";
    char *said = NULL;
    const int status = keys_run(script, keys.owner, &said);
    if (status == CASE_SKIPPED)
        case_skip("there is no node");
    if (status != 0 ||
        strstr(said,
               "token\nRefused not-allowed cannot acquire jobs/1: No prefix of the key owner") ==
            NULL)
        fail_msg("ended with %d and said: %s", status, said);
    assert_non_null(strstr(said, "Refused key-required cannot acquire orders/8: Send the key"));
    assert_non_null(
        strstr(said, "Refused key-required cannot acquire orders/8: The key is unknown"));
    assert_non_null(strstr(said, "a key must be one word"));
    free(said);
}

static const struct CMUnitTest cases[] = {
    KEYS_SERVED(pawl_takes_its_key_from_the_environment_or_a_file),
    KEYS_SERVED(pawl_says_what_the_key_may_not),
    KEYS_SERVED(key_is_in_no_list_of_processes),
    KEYS_ALONE(certificate_is_the_key_of_its_subject),
    KEYS_SERVED(python_client_sends_its_key),
    KEYS_SERVED(node_client_sends_its_key),
};

CASE_MAIN(cases, NULL, NULL)
