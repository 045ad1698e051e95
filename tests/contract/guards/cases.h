/* The cases that each guard is played, and what they share: two connections, and calls that may not
 * fail. For the files of cases, and for cases.c, which plays them. One thread, but where a case
 * says otherwise. */
#ifndef TESTS_CONTRACT_GUARDS_CASES_H
#define TESTS_CONTRACT_GUARDS_CASES_H

#include "tests/contract/guards/guard.h"

/* State of the run. */
extern const struct guard_kind *cases_kind;
extern struct guard_server *cases_server;

/* ---- cases ----------------------------------------------------------------------------------- */

/* Which kinds have a case. */
enum cases_wants {
    CASES_ANY,
    CASES_PROTECTS,
    CASES_SERVER,
};

/* Two connections, and a row, and so a resource, that no other case has. */
struct cases_fixture {
    const char *isolation;
    unsigned row;
    struct guard_connection *a, *b;
};

struct cases_row {
    const char *name;
    void (*play)(struct cases_fixture *f);
    enum cases_wants wants;
};

struct cases_rows {
    const struct cases_row *rows;
    size_t count;
};

#define CASES_ROW(wants, name)                                                                     \
    {                                                                                              \
#name, name, wants                                                                         \
    }
#define CASES_ROWS(rows)                                                                           \
    {                                                                                              \
        rows, sizeof(rows) / sizeof((rows)[0])                                                     \
    }

extern const struct cases_rows cases_rule, cases_pairs, cases_readers, cases_protected;

/* ---- of a case ------------------------------------------------------------------------------- */

/* One more row that no other case has. */
unsigned cases_more(void);

void cases_begin(struct guard_connection *connection);

/* The begin of a transaction that only reads. */
void cases_begin_read(struct guard_connection *connection);

void cases_commit(struct guard_connection *connection);
void cases_rollback(struct guard_connection *connection);

void cases_expect(const struct guard_connection *connection, enum guard_outcome outcome,
                  enum guard_outcome wanted);

typedef enum guard_outcome cases_judge(struct guard_connection *connection, const char *resource,
                                       int64_t token);

/* Each in its own transaction. */
enum guard_outcome cases_alone(cases_judge *judge, struct guard_connection *connection,
                               const char *resource, int64_t token);
void cases_claim(struct guard_connection *connection, const char *resource, int64_t token);
int64_t cases_token(struct guard_connection *connection, const char *resource);
int64_t cases_value(struct guard_connection *connection, enum guard_table table, unsigned id);

#endif
