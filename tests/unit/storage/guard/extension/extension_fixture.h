/* Two connections with the extension on one file, which has the guard's tables, and a table t (id,
 * who). A call that goes otherwise than its name says ends the test. */
#ifndef TESTS_UNIT_STORAGE_GUARD_EXTENSION_EXTENSION_FIXTURE_H
#define TESTS_UNIT_STORAGE_GUARD_EXTENSION_EXTENSION_FIXTURE_H

#include <stdint.h>

#include <sqlite3.h>

enum {
    EXTENSION_TEXT_MAX = 512,
};

struct extension_fixture {
    char *dir;
    char path[EXTENSION_TEXT_MAX];
    sqlite3 *a, *b;
};

int extension_fixture_setup(void **state);
int extension_fixture_teardown(void **state);

/* A case over its own fixture, which is in *@state. */
#define EXTENSION_CASE(name)                                                                       \
    cmocka_unit_test_setup_teardown(name, extension_fixture_setup, extension_fixture_teardown)

/* With the extension. The caller closes it. */
sqlite3 *extension_open(const char *path);

/* Loads it into a connection. */
void extension_load(sqlite3 *db);

/* Runs statements. */
void extension_run(sqlite3 *db, const char *text);

/* Their primary result code. */
int extension_code(sqlite3 *db, const char *text);

/* Their error begins with @start. */
void extension_refuses(sqlite3 *db, const char *text, const char *start);

/* The number that a query answers. */
int64_t extension_number(sqlite3 *db, const char *text);

#endif
