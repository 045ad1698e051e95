/* A guard under test: what each guard of storage/guard does, whatever database it is in. One file
 * implements it for each kind. Each has a database with two tables:
 *
 *     plain      (id INTEGER PRIMARY KEY, value BIGINT): nothing keeps a writer from it
 *     protected  the same; a row is of the resource "rows/<id>", which has to be claimed
 *
 * Both have the rows 1 to GUARD_ROWS, with the value 0. A connection belongs to one thread at a
 * time; a server to the thread that started it. A call that cannot be made ends the test. */
#ifndef TESTS_CONTRACT_GUARDS_GUARD_H
#define TESTS_CONTRACT_GUARDS_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GUARD_ROWS = 256,
    GUARD_ERROR_MAX = 512,
    GUARD_ISOLATIONS_MAX = 4,
};

enum guard_outcome {
    GUARD_DONE,
    GUARD_STALE,     /* the guard has seen a higher token */
    GUARD_UNCLAIMED, /* the table is protected, and the resource is not claimed */
    GUARD_INVALID,   /* no name, or no token */
    GUARD_AGAIN,     /* another transaction was in the way: roll back, and restart */
    GUARD_GONE,      /* the connection ended, and it is not known if the call was done */
    GUARD_FAILED,
};

enum guard_call {
    GUARD_CLAIM,
    GUARD_CHECK,
    GUARD_CLAIM_READ,
    GUARD_CHECK_READ,
};

enum {
    GUARD_CALLS = 4,
};

enum guard_table {
    GUARD_PLAIN,
    GUARD_PROTECTED,
};

struct argp_state;
struct guard_kind;

/* A database, and the server that has it, if any. */
struct guard_server {
    const struct guard_kind *kind;
    char *dir; /* folder of all its files */
    void *of_kind;
};

struct guard_connection {
    const struct guard_kind *kind;
    char error[GUARD_ERROR_MAX]; /* the words of the database about the last call that was not DONE
                                  */
};

struct guard_kind {
    const char *name;
    const char *isolations[GUARD_ISOLATIONS_MAX]; /* ended by NULL; the first is the default */
    bool has_server;                              /* which can be killed */
    bool protects;                                /* has the table "protected" */
    bool claims_end_with_transaction; /* else a claim holds for all that its connection does */

    /* The part that is missing on this machine; NULL: none. */
    const char *(*missing)(void);

    /* Makes the database, under server->dir, and sets server->of_kind. */
    void (*start)(struct guard_server *server);
    void (*stop)(struct guard_server *server);
    /* has_server: SIGKILL to all of it; and a start on the files that are there. */
    void (*kill)(struct guard_server *server);
    void (*restart)(struct guard_server *server);

    /* NULL: the server is not to be reached. Closing NULL does nothing. */
    struct guard_connection *(*connect)(const struct guard_server *server, const char *isolation);
    void (*close)(struct guard_connection *connection);

    enum guard_outcome (*begin)(struct guard_connection *connection);
    /* The begin of a transaction that only reads; NULL: as begin(). */
    enum guard_outcome (*begin_read)(struct guard_connection *connection);
    enum guard_outcome (*commit)(struct guard_connection *connection);
    void (*rollback)(struct guard_connection *connection);

    enum guard_outcome (*judge)(struct guard_connection *connection, enum guard_call call,
                                const char *resource, int64_t token);
    /* The highest token that was seen; 0: none. */
    enum guard_outcome (*token)(struct guard_connection *connection, const char *resource,
                                int64_t *ret_token);

    enum guard_outcome (*read)(struct guard_connection *connection, enum guard_table table,
                               unsigned id, int64_t *ret_value);
    enum guard_outcome (*write)(struct guard_connection *connection, enum guard_table table,
                                unsigned id, int64_t value);
};

extern const struct guard_kind guard_library, guard_extension, guard_mariadb, guard_postgresql,
    guard_postgresql_18, guard_pgbouncer;

/* NULL: there is no such kind. */
const struct guard_kind *guard_find(const char *name);

/* An option's number from 1 to @most. Ends the program with a sentence where it is none. */
unsigned guard_number(struct argp_state *state, const char *text, unsigned most);

/* The name of a table, and the resource of a row, which is good until the next call of the thread.
 */
const char *guard_table_name(enum guard_table table);
const char *guard_resource(unsigned id);

/* Its own folder, and the database in it. guard_server_free() stops it and removes the folder.
 */
struct guard_server *guard_server_new(const struct guard_kind *kind);
void guard_server_free(struct guard_server *server);

enum guard_outcome guard_claim(struct guard_connection *connection, const char *resource,
                               int64_t token);
enum guard_outcome guard_check(struct guard_connection *connection, const char *resource,
                               int64_t token);

/* The same for a reader of a read-write lock. */
enum guard_outcome guard_claim_read(struct guard_connection *connection, const char *resource,
                                    int64_t token);
enum guard_outcome guard_check_read(struct guard_connection *connection, const char *resource,
                                    int64_t token);

enum guard_outcome guard_begin_read(struct guard_connection *connection);

/* The function of SQL that makes the call. */
const char *guard_call_name(enum guard_call call);

/* connect() that may not fail. */
struct guard_connection *guard_connect(const struct guard_server *server, const char *isolation);

#endif
