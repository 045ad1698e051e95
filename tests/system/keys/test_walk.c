/* Every route and method of pawld and of the ledger, with every kind of caller: no caller learns or
 * changes what its key does not allow. The routes, and the right that each needs, are those that
 * the programs print (--routes): the tables that they serve from. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/keyed.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUTES_MAX = 64,
    TEXT_BYTES = 256,
    END_MS = 20000,
};

#define LOCK_ID "AAAAAAAAAAAAAAAAAAAAAAAAAAA"

/* The roles, from the weakest. */
enum role {
    NOBODY,
    READ,
    LOCK,
    ADMIN
};

static const char *const role_names[] = {"-", "read", "lock", "admin"};

struct route {
    struct pawl_service *service;
    char method[8];
    char path[TEXT_BYTES]; /* path of the pattern */
    enum role right;
};

static char keys_file[WORKDIR_PATH_BYTES];
static struct pawl_service pawld, ledger;
static struct route routes[ROUTES_MAX];
static unsigned routes_count;

/* Callers. The first of each role is for the names of the walk. */
static char admin[KEYED_KEY_MAX], locker[KEYED_KEY_MAX], reader[KEYED_KEY_MAX];
static char elsewhere[KEYED_KEY_MAX], unknown[KEYED_KEY_MAX], forged[KEYED_KEY_MAX];

static void read_routes(const char *program_name, struct pawl_service *service)
{
    char *program = pawl_program(program_name);
    char log[WORKDIR_PATH_BYTES], right[16];
    workdir_join(workdir.path, program_name, log);
    assert_int_equal(process_run((const char *const[]){program, "--routes", NULL}, log, END_MS), 0);
    char *said = text_read(log, 0);
    for (char *line = strtok(said, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(routes_count < ROUTES_MAX);
        struct route *route = &routes[routes_count++];
        assert_int_equal(sscanf(line, "%7s %255s %15s", route->method, route->path, right), 3);
        route->service = service;
        for (route->right = NOBODY; strcmp(role_names[route->right], right) != 0; route->right++)
            assert_true(route->right < ADMIN);
    }
    free(said);
    free(program);
}

static void make_keys(void)
{
    char other[WORKDIR_PATH_BYTES + 8];
    keyed_new(keys_file, "--role admin --prefix '*' --id admin", admin);
    keyed_new(keys_file, "--role lock --prefix orders/ --prefix accounts/ --id locker", locker);
    keyed_new(keys_file, "--role read --prefix orders/ --prefix accounts/ --id reader", reader);
    keyed_new(keys_file, "--role lock --prefix jobs/ --id elsewhere", elsewhere);
    snprintf(other, sizeof(other), "%s.other", keys_file);
    keyed_new(other, "--role admin --prefix '*' --id unknown", unknown);
    /* The id of the admin, with the secret of another key. */
    assert_true((size_t)snprintf(forged, sizeof(forged), "pawl_admin_%.43s",
                                 locker + strlen("pawl_locker_")) == strlen(admin));
}

/* A lock, a counter and an account that only the admin made. */
static void make_state(void)
{
    assert_int_equal(keyed_status(pawld.port, admin, "POST", "/v1/locks/orders/held", NULL,
                                  "{\"lock_id\": \"" LOCK_ID "\", \"ttl_ms\": 300000}"),
                     201);
    assert_int_equal(keyed_status(pawld.port, admin, "POST", "/v1/counters/orders/n", NULL, NULL),
                     200);
    assert_int_equal(keyed_status(ledger.port, admin, "PUT", "/v1/accounts/anna",
                                  "Fencing-Token: 5\r\n", "{\"balance\": 1}"),
                     201);
    assert_int_equal(keyed_status(ledger.port, admin, "PUT", "/v1/accounts/anna",
                                  "Fencing-Token: 4\r\n", "{\"balance\": 2}"),
                     412);
}

static int start(void **state)
{
    char db[WORKDIR_PATH_BYTES];
    (void)workdir_setup(state);
    workdir_join(workdir.path, "keys", keys_file);
    workdir_join(workdir.path, "db", db);
    make_keys();
    pawld = pawld_start_at(workdir.data, (const char *const[]){"--keys", keys_file, NULL});
    ledger = pawl_ledger_start(db, (const char *const[]){"--keys", keys_file, NULL});
    pawl_wait_ready(pawld);
    routes_count = 0;
    read_routes("pawld", &pawld);
    read_routes("pawl-ledger", &ledger);
    make_state();
    return 0;
}

/* Puts the names of the walk into the pattern. */
static void fill_path(const char *pattern, char ret_path[static TEXT_BYTES])
{
    static const struct {
        const char *parameter, *name;
    } names[] = {{"{resource...}", "orders/held"},
                 {"{name...}", "orders/n"},
                 {"{id}", "anna"},
                 {"{file...}", "shared/dom.js"}};
    snprintf(ret_path, TEXT_BYTES, "%s", pattern);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *at = strstr(pattern, names[i].parameter);
        if (at != NULL)
            snprintf(ret_path, TEXT_BYTES, "%.*s%s%s", (int)(at - pattern), pattern, names[i].name,
                     at + strlen(names[i].parameter));
    }
    assert_null(strchr(ret_path, '{')); /* a parameter without a name: give it one here */
}

/* As harmful as the call can be: it would take, extend, release, count or write. */
static const char *body_of(const char *method, const char *path)
{
    if (strcmp(method, "POST") == 0 && strcmp(path, "/v1/locks") == 0)
        return "{\"resources\": [\"orders/1\", \"orders/2\"]}";
    if (strcmp(method, "GET") != 0 && strcmp(path, "/v1/locks") == 0)
        return "{\"resources\": [\"orders/1\"], \"tokens\": [9]}";
    if (strncmp(path, "/v1/semaphores/", 15) == 0 && strcmp(method, "POST") == 0)
        return "{\"permits\": 1}";
    if (strncmp(path, "/v1/rwlocks/", 12) == 0 && strcmp(method, "POST") == 0)
        return "{\"mode\": \"write\"}";
    if (strcmp(path, "/v1/batch") == 0)
        return "{\"requests\": [{\"method\": \"POST\", \"path\": \"/v1/locks/orders/1\"}]}";
    if (strcmp(method, "PUT") == 0)
        return "{\"balance\": 99}";
    return strcmp(method, "POST") == 0 || strcmp(method, "PATCH") == 0 ? "{}" : NULL;
}

static void call_as(const char *key, const struct route *route, const char *method,
                    struct http_response *ret_response)
{
    char path[TEXT_BYTES];
    fill_path(route->path, path);
    keyed_call(route->service->port, key, method, path,
               "Lock-Id: " LOCK_ID "\r\nFencing-Token: 9\r\n", body_of(method, path), ret_response);
}

/* A stream of events has no end: its head is enough. */
static const char *method_of(const struct route *route)
{
    return strncmp(route->path, "/v1/events", strlen("/v1/events")) == 0 ? "HEAD" : route->method;
}

static void add_state(char *text, size_t size, uint16_t port, const char *path)
{
    struct http_response response;
    keyed_call(port, admin, "GET", path, NULL, NULL, &response);
    assert_int_equal(response.status, 200);
    json_object_del(response.json, "remaining_ms");
    const json_t *locks = json_object_get(response.json, "locks");
    for (size_t i = 0; i < json_array_size(locks); i++)
        json_object_del(json_array_get(locks, i), "remaining_ms");
    char *dump = json_dumps(response.json, JSON_SORT_KEYS);
    assert_non_null(dump);
    const size_t len = strlen(text);
    assert_true(len + strlen(dump) + 2 < size);
    snprintf(text + len, size - len, "%s\n", dump);
    free(dump);
    http_response_fini(&response);
}

/* All that an admin can see. The caller frees it. */
static char *see_all(void)
{
    const size_t size = 16384;
    char *text = calloc(1, size);
    assert_non_null(text);
    add_state(text, size, pawld.port, "/v1/locks");
    add_state(text, size, pawld.port, "/v1/locks/orders/held");
    add_state(text, size, pawld.port, "/v1/counters");
    add_state(text, size, ledger.port, "/v1/accounts/anna");
    add_state(text, size, ledger.port, "/v1/rejections");
    return text;
}

static void expect_unchanged(char *before)
{
    char *after = see_all();
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static const char *const methods[] = {"GET",   "HEAD",   "POST",    "PUT",
                                      "PATCH", "DELETE", "OPTIONS", "BREW"};

enum {
    METHODS = sizeof(methods) / sizeof(methods[0]),
};

static bool is_open(const struct route *route, const char *method)
{
    return route->right == NOBODY && (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0);
}

/* Answers are alike to the last byte but for the date, and the body that a HEAD has not. */
static void expect_same(const struct http_response *response, const char *wanted_head,
                        const char *wanted_body, const char *what)
{
    const char *date = strstr(response->head, "Date: ");
    const char *rest = date != NULL ? strchr(date, '\n') : NULL;
    if (response->status != 401 || rest == NULL || strcmp(rest, wanted_head) != 0 ||
        (response->body_len > 0 && strcmp(response->body, wanted_body) != 0))
        fail_msg("%s is answered otherwise:\n%s%s", what, response->head, response->body);
}

static void walk_as_nobody(const char *key)
{
    struct http_response first, response;
    char *before = see_all();
    char what[TEXT_BYTES * 2];
    keyed_call(pawld.port, key, "GET", "/nowhere/at/all", NULL, NULL, &first);
    assert_int_equal(first.status, 401);
    assert_string_equal(http_string(&first, "type"), "urn:pawl:key-required");
    char header[TEXT_BYTES];
    assert_true(http_header(&first, "WWW-Authenticate", header, sizeof(header)));
    assert_string_equal(header, "Bearer");
    const char *head = strchr(strstr(first.head, "Date: "), '\n');

    for (unsigned i = 0; i < routes_count; i++)
        for (unsigned m = 0; m < METHODS; m++) {
            call_as(key, &routes[i], methods[m], &response);
            snprintf(what, sizeof(what), "%s %s", methods[m], routes[i].path);
            if (is_open(&routes[i], methods[m]))
                assert_int_equal(response.status, 200);
            else
                expect_same(&response, head, first.body, what);
            http_response_fini(&response);
        }
    static const char *const odd[] = {"/page",      "/v1",           "/metrics", "/v1/locks/",
                                      "/v1/%zz",    "/v1/locks?x=1", "/livez/x", "/v1/locks/a//b",
                                      "/v1/fleet/", "/%00"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        keyed_call(pawld.port, key, "GET", odd[i], NULL, NULL, &response);
        expect_same(&response, head, first.body, odd[i]);
        http_response_fini(&response);
    }
    http_response_fini(&first);
    expect_unchanged(before);
}

static void nothing_is_told_or_done_without_a_key(void **state)
{
    walk_as_nobody("");
}

static void nothing_is_told_or_done_for_an_unknown_key(void **state)
{
    walk_as_nobody(unknown);
}

static void nothing_is_told_or_done_for_a_known_id_with_another_secret(void **state)
{
    walk_as_nobody(forged);
}

static void nothing_is_told_or_done_for_what_is_no_key(void **state)
{
    walk_as_nobody("pawl_admin_");
    walk_as_nobody("x");
}

static void unknown_id_and_wrong_secret_are_answered_alike(void **state)
{
    struct http_response one, other;
    keyed_call(pawld.port, unknown, "GET", "/v1/locks", NULL, NULL, &one);
    keyed_call(pawld.port, forged, "GET", "/v1/locks", NULL, NULL, &other);
    assert_int_equal(one.status, 401);
    assert_string_equal(one.body, other.body);
    assert_int_equal(strlen(one.head), strlen(other.head));
    http_response_fini(&one);
    http_response_fini(&other);
}

static void key_is_sent_as_bearer(void **state)
{
    char lines[KEYED_HEADERS_MAX];
    snprintf(lines, sizeof(lines), "Authorization: bearer  %s\r\n", admin);
    assert_int_equal(keyed_status(pawld.port, "", "GET", "/v1/locks", lines, NULL), 200);
    snprintf(lines, sizeof(lines), "Authorization: Basic %s\r\n", admin);
    assert_int_equal(keyed_status(pawld.port, "", "GET", "/v1/locks", lines, NULL), 401);
    snprintf(lines, sizeof(lines), "Authorization: %s\r\n", admin);
    assert_int_equal(keyed_status(pawld.port, "", "GET", "/v1/locks", lines, NULL), 401);
}

/* The one who sends them has a key, and is not to look for it. */
static void two_keys_are_told_to_be_two_on_each_path(void **state)
{
    static const char *const paths[] = {"/v1/locks", "/v1/locks/a", "/nowhere", "/livez"};
    char lines[KEYED_HEADERS_MAX];
    struct http_response response;
    snprintf(lines, sizeof(lines), "authorization: Bearer %s\r\n", admin);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        keyed_call(pawld.port, admin, "GET", paths[i], lines, NULL, &response);
        assert_int_equal(response.status, 400);
        assert_string_equal(http_string(&response, "detail"),
                            "Send the Authorization header only once.");
        http_response_fini(&response);
    }
}

/* Walks each route as it is meant to be called. Names are within the prefixes of the key. */
static void walk_with_role(const char *key, enum role role)
{
    struct http_response response;
    for (unsigned i = 0; i < routes_count; i++) {
        const struct route *route = &routes[i];
        call_as(key, route, method_of(route), &response);
        const bool refused = response.status == 403;
        if (refused != (route->right > role) || response.status == 401)
            fail_msg("%s %s as %s: %d %s", route->method, route->path, role_names[role],
                     response.status, response.body);
        if (refused) {
            assert_string_equal(http_string(&response, "type"), "urn:pawl:not-allowed");
            assert_string_equal(http_string(&response, "right"), role_names[route->right]);
            assert_null(json_object_get(response.json, "prefix"));
        }
        http_response_fini(&response);
    }
}

/* The reader may list what is within its prefixes: it says so. */
static void list_only_within(const char *key)
{
    struct http_response response;
    assert_int_equal(keyed_status(pawld.port, key, "GET", "/v1/locks?prefix=orders/", NULL, NULL),
                     200);
    assert_int_equal(
        keyed_status(pawld.port, key, "GET", "/v1/counters?prefix=orders/n", NULL, NULL), 200);
    keyed_call(pawld.port, key, "GET", "/v1/locks?prefix=order", NULL, NULL, &response);
    assert_int_equal(response.status, 403);
    assert_string_equal(http_string(&response, "prefix"), "order");
    http_response_fini(&response);
    assert_int_equal(keyed_status(pawld.port, key, "GET", "/v1/locks", NULL, NULL), 403);
    assert_int_equal(keyed_status(pawld.port, key, "GET", "/v1/counters", NULL, NULL), 403);
}

static bool is_listing(const struct route *route)
{
    return strcmp(route->method, "GET") == 0 &&
           (strcmp(route->path, "/v1/locks") == 0 || strcmp(route->path, "/v1/counters") == 0 ||
            strcmp(route->path, "/v1/events") == 0);
}

/* Listings of all names are for keys of all names: they are tried with a prefix. */
static void give_listings_a_prefix(void)
{
    for (unsigned i = 0; i < routes_count; i++)
        if (is_listing(&routes[i]))
            strncat(routes[i].path, "?prefix=orders/",
                    sizeof(routes[i].path) - strlen(routes[i].path) - 1);
}

static void read_key_only_reads(void **state)
{
    char *before = see_all();
    list_only_within(reader);
    give_listings_a_prefix();
    walk_with_role(reader, READ);
    expect_unchanged(before);
}

static void lock_key_takes_locks_too(void **state)
{
    list_only_within(locker);
    give_listings_a_prefix();
    walk_with_role(locker, LOCK);
}

static void admin_key_may_call_all(void **state)
{
    walk_with_role(admin, ADMIN);
    give_listings_a_prefix();
    walk_with_role(admin, ADMIN);
}

/* Reports whether the route is about names at all. */
static bool is_named(const struct route *route)
{
    return (strchr(route->path, '{') != NULL && route->right > NOBODY) || is_listing(route) ||
           strcmp(route->path, "/v1/locks") == 0;
}

static void key_of_another_prefix_reaches_no_name(void **state)
{
    struct http_response response;
    char *before = see_all();
    for (unsigned i = 0; i < routes_count; i++) {
        call_as(elsewhere, &routes[i], routes[i].method, &response);
        if (response.status != (is_named(&routes[i]) ? 403 : 200))
            fail_msg("%s %s: %d %s", routes[i].method, routes[i].path, response.status,
                     response.body);
        if (response.status == 403)
            assert_string_equal(http_string(&response, "type"), "urn:pawl:not-allowed");
        if (response.status == 403)
            assert_non_null(json_object_get(response.json, "prefix"));
        if (strstr(response.body, "anna") != NULL &&
            (strcmp(routes[i].path, "/v1/rejections") == 0 ||
             strcmp(routes[i].path, "/v1/accounts") == 0))
            fail_msg("accounts or refused writes of others are shown: %s", response.body);
        http_response_fini(&response);
    }
    /* Each of several is looked at. */
    keyed_call(pawld.port, elsewhere, "POST", "/v1/locks", NULL,
               "{\"resources\": [\"jobs/1\", \"orders/2\"]}", &response);
    assert_int_equal(response.status, 403);
    assert_string_equal(http_string(&response, "prefix"), "orders/2");
    http_response_fini(&response);
    expect_unchanged(before);
}

static void key_reaches_the_names_of_its_prefix(void **state)
{
    assert_int_equal(keyed_status(pawld.port, elsewhere, "POST", "/v1/locks/jobs/1", NULL, NULL),
                     201);
    assert_int_equal(keyed_status(pawld.port, elsewhere, "POST", "/v1/locks/jobs", NULL, NULL),
                     403);
}

static void unknown_path_is_told_to_known_callers(void **state)
{
    assert_int_equal(keyed_status(pawld.port, reader, "GET", "/nowhere", NULL, NULL), 404);
    assert_int_equal(keyed_status(pawld.port, reader, "PUT", "/v1/fleet", NULL, NULL), 405);
    assert_int_equal(keyed_status(pawld.port, reader, "GET", "/v1/%zz", NULL, NULL), 400);
}

/* The table of the page, from the routes. The caller frees it. */
static char *render_table(void)
{
    const size_t size = (size_t)ROUTES_MAX * TEXT_BYTES;
    char *text = malloc(size);
    assert_non_null(text);
    size_t len = (size_t)snprintf(text, size,
                                  "| program | call | no key | `read` | `lock` | `admin` |\n"
                                  "|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < routes_count; i++) {
        const struct route *route = &routes[i];
        len += (size_t)snprintf(text + len, size - len, "| %s | `%s %s` |",
                                route->service == &pawld ? "pawld" : "ledger", route->method,
                                route->path);
        for (enum role role = NOBODY; role <= ADMIN; role++)
            len += (size_t)snprintf(text + len, size - len, "%s |",
                                    route->right <= role ? " yes" : "");
        len += (size_t)snprintf(text + len, size - len, "\n");
    }
    return text;
}

static void page_has_the_table_of_the_code(void **state)
{
    char *table = render_table();
    char *page = text_read(PAWL_KEYS_PAGE, 0);
    if (strstr(page, table) == NULL)
        fail_msg("%s does not have this table:\n\n%s", PAWL_KEYS_PAGE, table);
    free(page);
    free(table);
}

#define WALK(name) cmocka_unit_test_setup_teardown(name, start, workdir_teardown)

static const struct CMUnitTest cases[] = {
    WALK(nothing_is_told_or_done_without_a_key),
    WALK(nothing_is_told_or_done_for_an_unknown_key),
    WALK(nothing_is_told_or_done_for_a_known_id_with_another_secret),
    WALK(nothing_is_told_or_done_for_what_is_no_key),
    WALK(unknown_id_and_wrong_secret_are_answered_alike),
    WALK(key_is_sent_as_bearer),
    WALK(two_keys_are_told_to_be_two_on_each_path),
    WALK(read_key_only_reads),
    WALK(lock_key_takes_locks_too),
    WALK(admin_key_may_call_all),
    WALK(key_of_another_prefix_reaches_no_name),
    WALK(key_reaches_the_names_of_its_prefix),
    WALK(unknown_path_is_told_to_known_callers),
    WALK(page_has_the_table_of_the_code),
};

CASE_MAIN(cases, NULL, NULL)
