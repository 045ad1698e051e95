/* What keys do beside opening routes: who holds a lock, rates and caps, the clients, and where a
 * service listens. */
#include "fence/protocol/limits.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/fleet.h"
#include "tests/system/keyed.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 256,
    COMMAND_BYTES = 1024,
    END_MS = 20000,
    RATE_TRIES = 50,
    TTL_MAX_MS = 60000,
};

#define LOCK_ID "BBBBBBBBBBBBBBBBBBBBBBBBBBB"

static char *dir;
static char keys_file[PATH_BYTES], folder[PATH_BYTES], log_file[PATH_BYTES];
static struct pawl_service pawld;
static char admin[KEYED_KEY_MAX], owner[KEYED_KEY_MAX], other[KEYED_KEY_MAX];
static char slow[KEYED_KEY_MAX], few[KEYED_KEY_MAX];

static int make_folder(void **state)
{
    (void)state;
    dir = tempdir_new();
    snprintf(keys_file, sizeof(keys_file), "%s/keys", dir);
    snprintf(folder, sizeof(folder), "%s/data", dir);
    snprintf(log_file, sizeof(log_file), "%s/log", dir);
    return 0;
}

static void serve(void)
{
    pawld = pawld_start_at(folder, (const char *const[]){"--keys", keys_file, NULL});
    pawl_wait_ready(pawld);
}

static int start(void **state)
{
    make_folder(state);
    keyed_new(keys_file, "--role admin --prefix '*' --id admin", admin);
    keyed_new(keys_file, "--role lock --prefix orders/ --id owner", owner);
    keyed_new(keys_file, "--role lock --prefix '*' --id other", other);
    keyed_new(keys_file, "--role read --prefix '*' --id slow --rate 1 --burst 2", slow);
    keyed_new(keys_file, "--role lock --prefix '*' --id few-locks --held 2", few);
    serve();
    return 0;
}

static int stop(void **state)
{
    if (fleet != NULL)
        (void)fleet_teardown(state);
    process_kill_all();
    tempdir_remove(dir);
    return 0;
}

/* ---- who may break it ------------------------------------------------------------------------ */

#define IF_MATCH "If-Match: \"1\"\r\n"
#define BREAK    "/v1/locks/orders/1?force=true"

static void only_an_admin_breaks_a_lock_and_the_holder_is_told_by_whom(void **state)
{
    (void)state;
    struct http_response response;
    static const char body[] = "{\"lock_id\": \"" LOCK_ID "\"}";
    static const char grant[] = "Lock-Id: " LOCK_ID "\r\nFencing-Token: 1\r\n";
    assert_int_equal(keyed_status(pawld.port, owner, "POST", "/v1/locks/orders/1", NULL, body),
                     201);
    assert_int_equal(keyed_status(pawld.port, owner, "DELETE", BREAK, IF_MATCH, NULL), 403);
    assert_int_equal(keyed_status(pawld.port, slow, "DELETE", BREAK, IF_MATCH, NULL), 403);
    assert_int_equal(keyed_status(pawld.port, "", "DELETE", BREAK, IF_MATCH, NULL), 401);
    assert_int_equal(keyed_status(pawld.port, owner, "PATCH", "/v1/locks/orders/1", grant, NULL),
                     200);
    assert_int_equal(keyed_status(pawld.port, admin, "DELETE", BREAK, IF_MATCH, NULL), 200);
    keyed_call(pawld.port, owner, "PATCH", "/v1/locks/orders/1", grant, NULL, &response);
    assert_int_equal(response.status, 409);
    assert_string_equal(json_string_value(json_object_get(response.json, "type")),
                        "urn:pawl:lock-broken");
    assert_string_equal(json_string_value(json_object_get(response.json, "by")), "admin");
    http_response_fini(&response);
}

/* ---- who holds a lock ------------------------------------------------------------------------ */

/* Asks as @key; @wanted NULL: the answer names no key. @member: of which object; NULL: of the
 * whole. */
static void expect_key(const char *key, const char *method, const char *path, const char *wanted)
{
    struct http_response response;
    keyed_call(pawld.port, key, method, path, NULL, NULL, &response);
    const json_t *object = response.json;
    if (json_object_get(object, "locks") != NULL)
        object = json_array_get(json_object_get(object, "locks"), 0);
    const char *shown = json_string_value(json_object_get(object, "key"));
    if ((wanted == NULL) != (shown == NULL) || (wanted != NULL && strcmp(shown, wanted) != 0))
        fail_msg("%s %s: %s", method, path, response.body);
    assert_string_equal(json_string_value(json_object_get(object, "owner")), "w-1");
    http_response_fini(&response);
}

static void expect_key_for_two_only(void)
{
    static const char *const reads[] = {"/v1/locks/orders/1", "/v1/locks?prefix=orders/"};
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        expect_key(admin, "GET", reads[i], "owner");
        expect_key(owner, "GET", reads[i], "owner");
        expect_key(other, "GET", reads[i], NULL);
    }
    expect_key(admin, "POST", "/v1/locks/orders/1", "owner");
    expect_key(owner, "POST", "/v1/locks/orders/1", "owner");
    expect_key(other, "POST", "/v1/locks/orders/1", NULL);
}

static void acquire_as_owner(void)
{
    assert_int_equal(keyed_status(pawld.port, owner, "POST", "/v1/locks/orders/1", NULL,
                                  "{\"lock_id\": \"" LOCK_ID
                                  "\", \"ttl_ms\": 300000, \"owner\": \"w-1\"}"),
                     201);
}

static void holder_is_shown_to_admins_and_to_its_own_key(void **state)
{
    (void)state;
    acquire_as_owner();
    expect_key_for_two_only();
}

static void holder_stays_through_an_extension_by_another_key_and_a_restart(void **state)
{
    (void)state;
    acquire_as_owner();
    assert_int_equal(keyed_status(pawld.port, other, "PATCH", "/v1/locks/orders/1",
                                  "Lock-Id: " LOCK_ID "\r\nFencing-Token: 1\r\n",
                                  "{\"ttl_ms\": 300000}"),
                     200);
    assert_int_equal(process_stop(pawld.process), 0);
    serve();
    expect_key_for_two_only();
}

static bool all_vote(void *arg)
{
    struct http_response response;
    keyed_call(pawld.port, arg, "GET", "/v1/fleet", NULL, NULL, &response);
    const bool vote = response.status == 200 && http_integer(&response, "active") == 3;
    http_response_fini(&response);
    return vote;
}

/* The longest label and the longest id, on masters that know the lock by an import alone. */
static void longest_holder_is_kept_by_masters_that_forgot(void **state)
{
    (void)state;
    char label[FENCE_LABEL_MAX + 1], body[2 * PATH_BYTES], key[KEYED_KEY_MAX];
    struct http_response response;
    memset(label, 'x', FENCE_LABEL_MAX);
    label[FENCE_LABEL_MAX] = '\0';
    snprintf(body, sizeof(body),
             "{\"lock_id\": \"" LOCK_ID "\", \"ttl_ms\": 60000, \"owner\": \"%s\"}", label);
    keyed_new(keys_file, "--role lock --prefix '*' --id sixteen-letters-", key);
    fleet_start(3, REDIS_VOLATILE);
    fleet_init(TTL_MAX_MS);
    pawld = pawld_start(
        fleet, (const char *const[]){"--keys", keys_file, FLEET_PROBE, FLEET_ASK_ALL, NULL});
    assert_true(wait_until(all_vote, key, END_MS));
    assert_int_equal(keyed_status(pawld.port, key, "POST", "/v1/locks/orders/1", NULL, body), 201);
    for (unsigned i = 0; i < 3; i++) { /* one after the other, so that a majority remembers */
        redis_fleet_kill(fleet, i);
        redis_fleet_restart(fleet, i, false);
        assert_true(wait_until(all_vote, key, END_MS));
    }
    const int extended =
        keyed_status(pawld.port, key, "PATCH", "/v1/locks/orders/1",
                     "Lock-Id: " LOCK_ID "\r\nFencing-Token: 1\r\n", "{\"ttl_ms\": 60000}");
    assert_true(extended == 200 || extended == 201);
    keyed_call(pawld.port, key, "GET", "/v1/locks/orders/1", NULL, NULL, &response);
    assert_string_equal(http_string(&response, "owner"), label);
    assert_string_equal(http_string(&response, "key"), "sixteen-letters-");
    http_response_fini(&response);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void key_is_refused_beyond_its_rate(void **state)
{
    (void)state;
    char after[32];
    struct http_response response = {.status = 200};
    for (int i = 0; i < RATE_TRIES && response.status == 200; i++) {
        if (i > 0)
            http_response_fini(&response);
        keyed_call(pawld.port, slow, "GET", "/v1/locks", NULL, NULL, &response);
    }
    assert_int_equal(response.status, 429);
    assert_string_equal(http_string(&response, "type"), "urn:pawl:rate-limited");
    assert_string_equal(http_string(&response, "key"), "slow");
    assert_true(http_integer(&response, "retry_after_ms") <= 1000);
    assert_true(http_header(&response, "Retry-After", after, sizeof(after)));
    assert_string_equal(after, "1");
    http_response_fini(&response);
    assert_int_equal(keyed_status(pawld.port, admin, "GET", "/v1/locks", NULL, NULL), 200);
    assert_int_equal(keyed_status(pawld.port, slow, "GET", "/livez", NULL, NULL), 200);
}

static int acquire_few(const char *path, const char *body)
{
    return keyed_status(pawld.port, few, "POST", path, NULL, body);
}

static void key_is_refused_beyond_its_cap_on_locks(void **state)
{
    (void)state;
    struct http_response response;
    assert_int_equal(acquire_few("/v1/locks/a", "{\"lock_id\": \"" LOCK_ID "\"}"), 201);
    assert_int_equal(acquire_few("/v1/locks", "{\"resources\": [\"b\", \"c\"]}"), 409);
    assert_int_equal(acquire_few("/v1/locks/b", NULL), 201);
    /* A retry gets what it has, and makes it no shorter. */
    assert_int_equal(acquire_few("/v1/locks/a", "{\"lock_id\": \"" LOCK_ID "\", \"ttl_ms\": 100}"),
                     200);
    wait_ms(200);
    keyed_call(pawld.port, few, "POST", "/v1/locks/c", NULL, NULL, &response);
    assert_int_equal(response.status, 409);
    assert_string_equal(http_string(&response, "type"), "urn:pawl:too-many-held");
    assert_int_equal(http_integer(&response, "held"), 2);
    assert_int_equal(http_integer(&response, "held_max"), 2);
    http_response_fini(&response);
    assert_int_equal(
        keyed_status(pawld.port, few, "DELETE", "/v1/locks/a", "Lock-Id: " LOCK_ID "\r\n", NULL),
        200);
    assert_int_equal(acquire_few("/v1/locks/c", NULL), 201);
}

static void lock_that_was_not_granted_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(keyed_status(pawld.port, admin, "POST", "/v1/locks/a", NULL, NULL), 201);
    for (int i = 0; i < 5; i++)
        assert_int_equal(acquire_few("/v1/locks/a", NULL), 409);
    assert_int_equal(acquire_few("/v1/locks/b", "{\"ttl_ms\": 100}"), 201);
    assert_int_equal(acquire_few("/v1/locks/c", NULL), 201);
    assert_int_equal(acquire_few("/v1/locks/d", "{\"ttl_ms\": 0}"), 400);
}

static bool takes_another(void *arg)
{
    return acquire_few(arg, NULL) == 201;
}

static void lock_counts_until_its_lease_is_over(void **state)
{
    (void)state;
    char path[] = "/v1/locks/c";
    assert_int_equal(acquire_few("/v1/locks/a", "{\"ttl_ms\": 300000}"), 201);
    assert_int_equal(acquire_few("/v1/locks/b", "{\"ttl_ms\": 100}"), 201);
    assert_true(wait_until(takes_another, path, END_MS));
    assert_int_equal(acquire_few("/v1/locks/d", NULL), 409);
}

/* ---- reloading ------------------------------------------------------------------------------- */

/* Calls as the admin over one connection until it is told to stop; *@ret_refused counts what was
 * not answered with 200, and *@ret_calls all. */
struct steady {
    atomic_bool stop;
    unsigned calls, refused;
};

static void *call_steadily(void *arg)
{
    struct steady *steady = arg;
    char headers[KEYED_HEADERS_MAX];
    struct http *http = http_connect(pawld.port);
    snprintf(headers, sizeof(headers), "Authorization: Bearer %s\r\n", admin);
    while (!atomic_load(&steady->stop)) {
        struct http_response response;
        http_request(http, "GET", "/v1/locks", headers, NULL, &response);
        steady->calls++;
        steady->refused += response.status != 200;
        http_response_fini(&response);
    }
    http_close(http);
    return NULL;
}

static bool is_let_in(void *key)
{
    return keyed_status(pawld.port, key, "GET", "/v1/locks", NULL, NULL) == 200;
}

static bool is_refused(void *key)
{
    return keyed_status(pawld.port, key, "GET", "/v1/locks", NULL, NULL) == 401;
}

/* Writes the key file without the line of @id, and with @more at its end. */
static void edit_keys(const char *id, const char *more)
{
    char *text = text_read(keys_file, 0), start[64];
    FILE *file = fopen(keys_file, "w");
    assert_non_null(file);
    snprintf(start, sizeof(start), "%s hash=", id);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strncmp(line, start, strlen(start)) != 0)
            fprintf(file, "%s\n", line);
    fputs(more, file);
    assert_int_equal(fclose(file), 0);
    free(text);
}

static void keys_are_replaced_without_a_dropped_call(void **state)
{
    (void)state;
    char next[KEYED_KEY_MAX];
    struct steady steady = {.calls = 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_steadily, &steady), 0);

    keyed_new(keys_file, "--role lock --prefix '*' --id other-2", next);
    assert_true(is_refused(next));
    process_signal(pawld.process, SIGHUP);
    assert_true(wait_until(is_let_in, next, END_MS));
    assert_true(is_let_in(other));

    edit_keys("other", "");
    process_signal(pawld.process, SIGHUP);
    assert_true(wait_until(is_refused, other, END_MS));
    assert_true(is_let_in(next));

    atomic_store(&steady.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(steady.calls > 0);
    assert_int_equal(steady.refused, 0);
}

static void wrong_file_leaves_the_keys_as_they_were(void **state)
{
    (void)state;
    edit_keys("other", "nightly role=lock\n");
    process_signal(pawld.process, SIGHUP);
    process_wait_line(pawld.process, "the keys stay as they were: .*/keys:[0-9]+: hash= is missing",
                      END_MS, NULL, 0);
    assert_true(is_let_in(other));
    assert_int_equal(unlink(keys_file), 0);
    process_signal(pawld.process, SIGHUP);
    process_wait_line(pawld.process, "the keys stay as they were: .*: No such file", END_MS, NULL,
                      0);
    assert_true(is_let_in(other));
}

/* ---- the clients ----------------------------------------------------------------------------- */

/* Runs @command in a shell that knows the programs and the server; what it prints is in *@ret_said,
 * which the caller frees. Returns the exit status. */
static int run_shell(const char *command, const char *key, char **ret_said)
{
    char script[2 * COMMAND_BYTES];
    char *program = pawl_program("pawl");
    snprintf(script, sizeof(script),
             "export PAWL='%s' PAWL_SERVER=http://127.0.0.1:%u DIR='%s'; %s%s\n%s", program,
             (unsigned)pawld.port, dir, key[0] != '\0' ? "export PAWL_KEY=" : "", key, command);
    (void)remove(log_file);
    const int status =
        process_run((const char *const[]){"bash", "-c", script, NULL}, log_file, END_MS);
    *ret_said = text_read(log_file, 0);
    free(program);
    return status;
}

static void expect_said(const char *command, const char *key, int status, const char *says)
{
    char *said = NULL;
    const int ended = run_shell(command, key, &said);
    if (ended != status || strstr(said, says) == NULL)
        fail_msg("%s ended with %d and said: %s", command, ended, said);
    free(said);
}

static void pawl_takes_its_key_from_the_environment_or_a_file(void **state)
{
    (void)state;
    expect_said("$PAWL acquire orders/2", owner, 0, "");
    expect_said("$PAWL show orders/2", "", 125, "Send the key that the operator gave you");
    char command[COMMAND_BYTES];
    snprintf(command, sizeof(command),
             "umask 077; echo %s > $DIR/owner.key; $PAWL --key-file $DIR/owner.key show orders/2 "
             "--json",
             owner);
    expect_said(command, "", 0, "\"key\":\"owner\"");
    expect_said("$PAWL lock --key-file $DIR/owner.key orders/3 -- sh -c '$PAWL show orders/3'", "",
                0, "orders/3");
    expect_said("chmod o+r $DIR/owner.key; $PAWL --key-file $DIR/owner.key list", "", 125,
                "chmod o-rwx");
    expect_said("$PAWL --key-file $DIR/none list", "", 125, "No such file");
    expect_said("umask 077; : > $DIR/empty; $PAWL --key-file $DIR/empty list", "", 125,
                "first line");
}

static void pawl_says_what_the_key_may_not(void **state)
{
    (void)state;
    expect_said("$PAWL acquire jobs/1", owner, 125, "none of its prefixes is the beginning of");
    expect_said("$PAWL acquire orders/1", slow, 125, "the key slow has the role read");
    expect_said("$PAWL list", "pawl_owner_wrong", 125, "The key is not known here");
}

static void key_is_in_no_list_of_processes(void **state)
{
    (void)state;
    expect_said("$PAWL lock orders/4 -- sh -c 'ps -ww -eo args; touch $DIR/seen'; ls $DIR", owner,
                0, "seen");
    char *said = text_read(log_file, 0);
    const char *secret = owner + strlen("pawl_owner_");
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
             "[ -e ca.pem ] || openssl req -x509 $ec -days 9 -keyout ca.key -out ca.pem -subj "
             "/CN=ca\n"
             "openssl req $ec -keyout '%s.key' -out csr -subj '/CN=%s'\n"
             "openssl x509 -req -in csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 -out "
             "'%s.pem' -extfile <(echo subjectAltName=IP:127.0.0.1)",
             name, name, name);
    if (run_shell(command, "", &said) != 0)
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
             (unsigned)pawld.port, name, name, words);
    expect_said(command, key, status, says);
}

static void certificate_is_the_key_of_its_subject(void **state)
{
    (void)state;
    char files[4][2 * PATH_BYTES];
    static const char *const names[] = {"ca.pem", "pawld.pem", "pawld.key"};
    keyed_new(keys_file, "--role lock --prefix orders/ --id by-cert --subject 'job runner'", owner);
    keyed_new(keys_file, "--role read --prefix '*' --id reader", other);
    make_certificate("pawld");
    make_certificate("job runner");
    make_certificate("stranger");
    for (int i = 0; i < 3; i++)
        snprintf(files[i], sizeof(files[i]), "%s/%s", dir, names[i]);
    pawld = pawld_start_at(folder, (const char *const[]){"--keys", keys_file, "--tls-client-ca",
                                                         files[0], "--tls-cert", files[1],
                                                         "--tls-key", files[2], NULL});
    expect_with_certificate("job runner", "", "acquire --wait 10s orders/1", 0, "orders/1");
    expect_with_certificate("job runner", "", "show orders/1 --json", 0, "\"key\":\"by-cert\"");
    expect_with_certificate("job runner", "", "acquire jobs/1", 125,
                            "The key by-cert is for other");
    expect_with_certificate("stranger", "", "show orders/1", 125, "Send the key");
    /* A key that is sent counts, and none that is wrong is mended by a certificate. */
    expect_with_certificate("job runner", other, "show jobs/1 --json", 0, "\"held\":false");
    expect_with_certificate("job runner", "pawl_x", "show orders/1", 125, "The key is not known");
}

static void python_client_sends_its_key(void **state)
{
    (void)state;
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
    expect_said(script, owner, 0, "token 1\nnot-allowed The key owner is for other names");
    char *said = text_read(log_file, 0);
    assert_non_null(strstr(said, "key-required Send the key that the operator gave you"));
    assert_non_null(strstr(said, "key-required The key is not known here"));
    assert_non_null(strstr(said, "a key is one word"));
    free(said);
}

static void node_client_sends_its_key(void **state)
{
    (void)state;
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
    const int status = run_shell(script, owner, &said);
    if (status == CASE_SKIPPED)
        case_skip("there is no node");
    if (status != 0 || strstr(said, "token\nRefused not-allowed The key owner is for") == NULL)
        fail_msg("ended with %d and said: %s", status, said);
    assert_non_null(strstr(said, "Refused key-required Send the key that the operator gave you"));
    assert_non_null(strstr(said, "Refused key-required The key is not known here"));
    assert_non_null(strstr(said, "a key is one word"));
    free(said);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void expect_refusal(const char *const options[], const char *says)
{
    const int status = pawld_run_at(NULL, folder, options, log_file);
    char *said = text_read(log_file, 0);
    if (status != 2 || strstr(said, says) == NULL || strchr(said, '\n') != said + strlen(said) - 1)
        fail_msg("ended with %d and said: %s", status, said);
    assert_int_not_equal(access(folder, F_OK), 0); /* nothing was begun */
    free(said);
}

static void without_keys_no_public_address_is_served(void **state)
{
    (void)state;
    static const char *const addresses[] = {":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
        expect_refusal((const char *const[]){"--listen", addresses[i], NULL},
                       "whoever reaches this address may call everything, as there are no keys");
}

static void serve_publicly(const char *const options[])
{
    char *program = pawl_program("pawld");
    const char *argv[16] = {program, "--data", folder, "--listen", "0.0.0.0:0"};
    for (int i = 0; options[i] != NULL; i++)
        argv[5 + i] = options[i];
    struct process *process = process_start(argv, log_file);
    process_wait_line(process, "listening on 0\\.0\\.0\\.0:[0-9]+", END_MS, NULL, 0);
    assert_int_equal(process_stop(process), 0);
    free(program);
}

static void public_address_is_served_with_keys_or_where_it_is_open(void **state)
{
    (void)state;
    keyed_new(keys_file, "--role admin --prefix '*'", admin);
    serve_publicly((const char *const[]){"--open", NULL});
    serve_publicly((const char *const[]){"--keys", keys_file, NULL});
}

static void wrong_key_file_is_refused_by_its_line(void **state)
{
    (void)state;
    char says[PATH_BYTES + 64];
    keyed_new(keys_file, "--role admin --prefix '*'", admin);
    FILE *file = fopen(keys_file, "a");
    assert_non_null(file);
    fputs("# a comment\nnightly role=lock\n", file);
    fclose(file);
    snprintf(says, sizeof(says), "%s:3: hash= is missing", keys_file);
    expect_refusal((const char *const[]){"--keys", keys_file, NULL}, says);
    expect_refusal((const char *const[]){"--check", "--keys", keys_file, NULL}, says);
    assert_int_equal(chmod(keys_file, 0644), 0);
    expect_refusal((const char *const[]){"--keys", keys_file, NULL}, "chmod o-r");
    expect_refusal((const char *const[]){"--keys", "/nowhere/keys", NULL}, "No such file");
}

/* A refused call of `pawl key new` leaves the file as it is. */
static void key_file_is_replaced_as_a_whole_or_not_at_all(void **state)
{
    (void)state;
    keyed_new(keys_file, "--role lock --prefix orders/ --id owner", owner);
    char *before = text_read(keys_file, 0);
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
        const int status = run_shell(refused[i], "", &said);
        if (status != 125 || strncmp(said, "pawl", 4) != 0)
            fail_msg("%s ended with %d and said: %s", refused[i], status, said);
        free(said);
    }
    char *after = text_read(keys_file, 0);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void line_and_key_go_to_two_places(void **state)
{
    (void)state;
    expect_said("$PAWL key new --role lock --prefix a/ --id some-id 2>/dev/null", "", 0,
                "pawl_some-id_");
    char *said = text_read(log_file, 0);
    assert_int_equal(strlen(said), strlen("pawl_some-id_") + 43 + 1);
    free(said);
    expect_said("$PAWL key new --role lock --prefix a/ --id some-id 2>&1 >/dev/null", "", 0,
                "\nsome-id hash=");
}

#define SERVED(name) cmocka_unit_test_setup_teardown(name, start, stop)
#define ALONE(name)  cmocka_unit_test_setup_teardown(name, make_folder, stop)

static const struct CMUnitTest cases[] = {
    SERVED(only_an_admin_breaks_a_lock_and_the_holder_is_told_by_whom),
    SERVED(holder_is_shown_to_admins_and_to_its_own_key),
    SERVED(holder_stays_through_an_extension_by_another_key_and_a_restart),
    ALONE(longest_holder_is_kept_by_masters_that_forgot),
    SERVED(key_is_refused_beyond_its_rate),
    SERVED(key_is_refused_beyond_its_cap_on_locks),
    SERVED(lock_that_was_not_granted_does_not_count),
    SERVED(lock_counts_until_its_lease_is_over),
    SERVED(pawl_takes_its_key_from_the_environment_or_a_file),
    SERVED(pawl_says_what_the_key_may_not),
    SERVED(key_is_in_no_list_of_processes),
    SERVED(keys_are_replaced_without_a_dropped_call),
    SERVED(wrong_file_leaves_the_keys_as_they_were),
    ALONE(certificate_is_the_key_of_its_subject),
    SERVED(python_client_sends_its_key),
    SERVED(node_client_sends_its_key),
    ALONE(without_keys_no_public_address_is_served),
    ALONE(public_address_is_served_with_keys_or_where_it_is_open),
    ALONE(wrong_key_file_is_refused_by_its_line),
    ALONE(key_file_is_replaced_as_a_whole_or_not_at_all),
    ALONE(line_and_key_go_to_two_places),
};

CASE_MAIN(cases, NULL, NULL)
