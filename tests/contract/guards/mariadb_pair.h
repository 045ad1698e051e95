/* Two sessions of one MariaDB, for the tests of its guard alone. All cases of a program share the
 * server. A call that cannot be made, or that ends otherwise than said, ends the test. */
#ifndef TESTS_CONTRACT_GUARDS_MARIADB_PAIR_H
#define TESTS_CONTRACT_GUARDS_MARIADB_PAIR_H

#include "tests/contract/guards/guard.h"
#include "tests/lib/case.h"

extern struct guard_server *mariadb_shared;

/* The row is one that no other case has; the resource is its own. */
struct pair {
    unsigned row;
    char resource[32];
    struct guard_connection *a, *b;
};

/* Of the program: for CASE_MAIN. */
int pair_setup(void **state);
int pair_teardown(void **state);

/* Skips the case where there is no MariaDB. */
struct pair pair_begin(void **state, const char *isolation);
void pair_end(struct pair *pair);

void assert_outcome(const struct guard_connection *connection, enum guard_outcome outcome,
                    enum guard_outcome wanted);

/* The statement fails with a text that begins with @word. */
void assert_refused(struct guard_connection *connection, const char *statement, const char *word);

void must_claim(struct guard_connection *connection, const char *resource, int64_t token);
int64_t token_of(struct guard_connection *connection, const char *resource);

/* The first number that the statement answers with. */
int64_t number_of(struct guard_connection *connection, const char *statement);

/* Of a row of "plain". */
int64_t value_of(struct guard_connection *connection, unsigned row);

#endif
