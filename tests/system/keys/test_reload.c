/* Key files that are read again while callers are served. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/keyed.h"
#include "tests/system/keys/service.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    END_MS = 20000,
};

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
    struct http *http = http_connect(keys.pawld.port);
    snprintf(headers, sizeof(headers), "Authorization: Bearer %s\r\n", keys.admin);
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
    return keys_status(key, "GET", "/v1/locks", NULL, NULL) == 200;
}

static bool is_refused(void *key)
{
    return keys_status(key, "GET", "/v1/locks", NULL, NULL) == 401;
}

/* Writes the key file without the line of @id, and with @more at its end. */
static void edit_keys(const char *id, const char *more)
{
    char *text = text_read(keys.file, 0), start[64];
    FILE *file = fopen(keys.file, "w");
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
    char next[KEYED_KEY_MAX];
    struct steady steady = {.calls = 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_steadily, &steady), 0);

    keyed_new(keys.file, "--role lock --prefix '*' --id other-2", next);
    assert_true(is_refused(next));
    process_signal(keys.pawld.process, SIGHUP);
    assert_true(wait_until(is_let_in, next, END_MS));
    assert_true(is_let_in(keys.other));

    edit_keys("other", "");
    process_signal(keys.pawld.process, SIGHUP);
    assert_true(wait_until(is_refused, keys.other, END_MS));
    assert_true(is_let_in(next));

    atomic_store(&steady.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(steady.calls > 0);
    assert_int_equal(steady.refused, 0);
}

static void wrong_file_leaves_the_keys_as_they_were(void **state)
{
    edit_keys("other", "nightly role=lock\n");
    process_signal(keys.pawld.process, SIGHUP);
    process_wait_line(keys.pawld.process,
                      "the keys were not reloaded: .*/keys:[0-9]+: hash= is missing", END_MS, NULL,
                      0);
    assert_true(is_let_in(keys.other));
    assert_int_equal(unlink(keys.file), 0);
    process_signal(keys.pawld.process, SIGHUP);
    process_wait_line(keys.pawld.process, "the keys were not reloaded: .*: No such file", END_MS,
                      NULL, 0);
    assert_true(is_let_in(keys.other));
}

/* Cuts the last @count bytes of the key file. */
static void cut_keys(size_t count)
{
    char *text = text_read(keys.file, 0);
    text[strlen(text) - count] = '\0';
    workdir_write(keys.file, text);
    free(text);
}

/* The key would lose the end of its prefix, and reach more. */
static void file_that_is_half_written_leaves_the_keys_as_they_were(void **state)
{
    char narrow[KEYED_KEY_MAX];
    keyed_new(keys.file, "--role lock --prefix orders/ --id narrow", narrow);
    process_signal(keys.pawld.process, SIGHUP);
    process_wait_line(keys.pawld.process, "keys are in force", END_MS, NULL, 0);
    cut_keys(strlen("rders/\n"));
    process_signal(keys.pawld.process, SIGHUP);
    process_wait_line(keys.pawld.process, "the keys were not reloaded: .*truncated", END_MS, NULL,
                      0);
    assert_int_equal(keys_status(narrow, "GET", "/v1/locks/others", NULL, NULL), 403);
}

struct ledger_call {
    uint16_t port;
    const char *key;
};

static bool ledger_lets_in(void *arg)
{
    const struct ledger_call *call = arg;
    return keyed_status(call->port, call->key, "GET", "/v1/rejections", NULL, NULL) == 200;
}

static void ledger_reads_its_keys_again(void **state)
{
    char next[KEYED_KEY_MAX], db[2 * WORKDIR_PATH_BYTES];
    snprintf(db, sizeof(db), "%s/ledger.db", workdir.path);
    const struct pawl_service ledger =
        pawl_ledger_start(db, (const char *const[]){"--keys", keys.file, NULL});
    keyed_new(keys.file, "--role read --prefix '*' --id next", next);
    struct ledger_call call = {ledger.port, next};
    assert_false(ledger_lets_in(&call));
    process_signal(ledger.process, SIGHUP);
    assert_true(wait_until(ledger_lets_in, &call, END_MS));
    cut_keys(1);
    process_signal(ledger.process, SIGHUP);
    process_wait_line(ledger.process, "the keys were not reloaded: .*truncated", END_MS, NULL, 0);
    assert_true(ledger_lets_in(&call));
    process_stop(ledger.process);
}

/* A page ends with an account that the key reaches, or is the last. */
static void page_of_accounts_tells_no_id_beyond_the_prefixes_of_the_key(void **state)
{
    enum {
        HIDDEN = 100, /* as many as a page has */
    };
    char narrow[KEYED_KEY_MAX], db[2 * WORKDIR_PATH_BYTES], path[64];
    struct http_response response;
    snprintf(db, sizeof(db), "%s/ledger.db", workdir.path);
    keyed_new(keys.file, "--role read --prefix accounts/a --id narrow", narrow);
    const struct pawl_service ledger =
        pawl_ledger_start(db, (const char *const[]){"--keys", keys.file, NULL});
    for (int k = 0; k <= HIDDEN; k++) {
        snprintf(path, sizeof(path), "/v1/accounts/%c-%d", k == 0 ? 'a' : 'b', k);
        assert_int_equal(keyed_status(ledger.port, keys.admin, "PUT", path, "Fencing-Token: 1\r\n",
                                      "{\"balance\": 1}"),
                         201);
    }
    keyed_call(ledger.port, narrow, "GET", "/v1/accounts", NULL, NULL, &response);
    assert_int_equal(response.status, 200);
    assert_int_equal(json_array_size(json_object_get(response.json, "accounts")), 1);
    assert_true(json_is_null(json_object_get(response.json, "next_after")));
    http_response_fini(&response);
    process_stop(ledger.process);
}

static const struct CMUnitTest cases[] = {
    KEYS_SERVED(keys_are_replaced_without_a_dropped_call),
    KEYS_SERVED(wrong_file_leaves_the_keys_as_they_were),
    KEYS_SERVED(file_that_is_half_written_leaves_the_keys_as_they_were),
    KEYS_SERVED(ledger_reads_its_keys_again),
    KEYS_SERVED(page_of_accounts_tells_no_id_beyond_the_prefixes_of_the_key),
};

CASE_MAIN(cases, NULL, NULL)
