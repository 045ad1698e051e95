/* Two sessions of one MariaDB, for the tests of its guard alone. All cases of a program share the
 * server. A call that cannot be made, or that ends otherwise than said, ends the test. */
#ifndef TESTS_CONTRACT_GUARDS_MARIADB_PAIR_H
#define TESTS_CONTRACT_GUARDS_MARIADB_PAIR_H

#include "tests/contract/guards/guard.h"
#include "tests/lib/case.h"

extern struct guard_server *mariadb_shared;

/* The arguments of a case. The row is one that no other case has; the resource is its own. */
struct pair {
    unsigned row;
    char resource[32];
    struct guard_connection *a, *b;
    struct guard_connection *root; /* the user that installs the guard */
};

struct pair_row {
    const char *name;
    void (*play)(struct pair *pair);
    const char *isolation;
};

#define PAIR_AT(isolation, name)                                                                   \
    {                                                                                              \
#name, name, isolation                                                                     \
    }
#define PAIR(name) PAIR_AT("REPEATABLE READ", name)

/* Defines main(), which plays each row as a case, or skips all where there is no MariaDB. */
#define PAIR_MAIN(rows)                                                                            \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return pair_main(argc, argv, rows, sizeof(rows) / sizeof((rows)[0]));                      \
    }
int pair_main(int argc, char **argv, const struct pair_row *rows, size_t count);

/* For CASE_MAIN, of a program without pairs. */
int pair_setup(void **state);
int pair_teardown(void **state);

void assert_outcome(const struct guard_connection *connection, enum guard_outcome outcome,
                    enum guard_outcome wanted);

/* The statement fails with a text that begins with @word. */
void assert_refused(struct guard_connection *connection, const char *statement, const char *word);

void must_claim(struct guard_connection *connection, const char *resource, int64_t token);
int64_t token_of(struct guard_connection *connection, const char *resource);

/* The first number that the statement answers with. */
int64_t number_of(struct guard_connection *connection, const char *statement);

/* For a row of "plain". */
int64_t value_of(struct guard_connection *connection, unsigned row);

#endif
