/* A program of a fuzzer that plays an input on databases with a guard: reads the input byte by
 * byte, and makes values and statements of it. */
#ifndef TESTS_FUZZ_PLAYER_H
#define TESTS_FUZZ_PLAYER_H

#include "tests/fuzz/guarded.h"

enum {
    TEXT_MAX = 300, /* bytes of a text or a blob: longer than a resource */
    VALUES_MAX = 3,
    SAVEPOINTS_MAX = 8,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct value {
    int type; /* as SQLite names it */
    int64_t integer;
    double real;
    size_t len;
    char bytes[TEXT_MAX + 1];
};

/* The savepoints of a writer that stand. */
struct savepoints {
    size_t count;
    const char *names[SAVEPOINTS_MAX];
};

struct player {
    const uint8_t *data;
    size_t size;
    size_t who;   /* runs the statement */
    bool starves; /* an allocation of the statement fails */
    struct value values[VALUES_MAX];
    struct savepoints savepoints[GUARDED_WRITERS];
    sqlite3_stmt *cursor[GUARDED_WRITERS]; /* reads while other statements run; NULL: none */
    struct guarded guarded;
};

/* The next byte of the input; 0: it is over. */
unsigned player_next(struct player *player);

/* One of the @count texts of @list, which the next byte chooses. */
const char *player_next_of(struct player *player, const char *const *list, size_t count);

/* The connection that runs the statement; and runs @text on it. */
sqlite3 *player_db(const struct player *player);
int player_run(struct player *player, const char *text);

/* A value of the kind that is wanted: (r)esource, (n)umber, a token near the (h)ighest, (t)able,
 * (e)xpression, (k)ind. One of eight is any. */
void player_set_wanted(struct player *player, struct value *value, char wanted);

/* The statement @text with values of the kinds @wanted. NULL: it is none now. */
sqlite3_stmt *player_prepare(struct player *player, const char *text, const char *wanted);

/* Runs @stmt to its end. Returns the integer of its last row, or 0. */
int64_t player_finish(sqlite3_stmt *stmt, int *ret_code);

#endif
