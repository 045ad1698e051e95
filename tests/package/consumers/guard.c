/* A program of others: the installed guard, on the database file that is its argument. Fails where
 * a stale write is let in, or where a wrong call is anything but an error. */
#include <pawl_guard.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(wanted, call)                                                                       \
    do {                                                                                           \
        const int got = (call);                                                                    \
        if (got != (wanted)) {                                                                     \
            fprintf(stderr, "line %d: %s is %s, not %s\n", __LINE__, #call,                        \
                    pawl_guard_error_name(got), pawl_guard_error_name(wanted));                    \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static const char name[] = "orders/42";
static const char lock_id[] = "AAAAAAAAAAAAAAAAAAAAAA";

static int execute(sqlite3 *db, const char *text)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : PAWL_GUARD_EIO;
}

/* Token 35 claims between the claim and the write of token 34. */
static int refuse_stale_write(sqlite3 *db)
{
    struct pawl_guard_rejection rejection = {0};
    EXPECT(0, pawl_guard_begin(db));
    EXPECT(0, pawl_guard_claim(db, name, 34, NULL));
    EXPECT(0, pawl_guard_commit(db));
    EXPECT(0, pawl_guard_begin(db));
    EXPECT(0, pawl_guard_claim(db, name, 35, &rejection));
    EXPECT(0, pawl_guard_check(db, name, 35, &rejection));
    EXPECT(0, execute(db, "INSERT INTO orders VALUES ('of 35')"));
    EXPECT(0, pawl_guard_commit(db));
    EXPECT(0, pawl_guard_begin(db));
    EXPECT(PAWL_GUARD_ESTALE, pawl_guard_check(db, name, 34, &rejection));
    pawl_guard_rollback(db);
    EXPECT(1, rejection.token == 34 && rejection.highest_token == 35);
    EXPECT(1, rejection.kind == PAWL_GUARD_WRITE && strcmp(rejection.resource, name) == 0);
    EXPECT(0, pawl_guard_begin(db));
    EXPECT(0, pawl_guard_record(db, &rejection));
    EXPECT(0, pawl_guard_commit(db));
    return 0;
}

/* Reader 36 ends the right of writer 35. */
static int admit_a_reader(sqlite3 *db)
{
    struct pawl_guard_rejection rejection = {0};
    EXPECT(0, pawl_guard_begin(db));
    EXPECT(0, pawl_guard_claim_read(db, name, 36, NULL));
    EXPECT(0, pawl_guard_commit(db));
    EXPECT(0, execute(db, "BEGIN"));
    EXPECT(0, pawl_guard_check_read(db, name, 36, NULL));
    EXPECT(PAWL_GUARD_ESTALE, pawl_guard_check_read(db, name, 34, &rejection));
    EXPECT(1, rejection.kind == PAWL_GUARD_READ && rejection.highest_token == 35);
    EXPECT(0, pawl_guard_commit(db));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_check_read(db, name, 36, NULL)); /* no transaction */
    EXPECT(0, pawl_guard_begin(db));
    EXPECT(PAWL_GUARD_ESTALE, pawl_guard_check(db, name, 35, &rejection));
    pawl_guard_rollback(db);
    EXPECT(1, rejection.kind == PAWL_GUARD_WRITE && rejection.highest_token == 36);
    return 0;
}

static int list_what_was_refused(sqlite3 *db)
{
    struct pawl_guard_rejection listed[4];
    size_t count = 0;
    EXPECT(0, pawl_guard_rejections(db, 4, listed, &count));
    EXPECT(1, count == 1 && listed[0].token == 34 && listed[0].at_ms > 0);
    return 0;
}

static int refuse_by_identity(sqlite3 *db)
{
    EXPECT(0, pawl_guard_begin(db));
    EXPECT(PAWL_GUARD_ESTALE, pawl_guard_check_id(db, "by/id", lock_id, NULL));
    EXPECT(0, pawl_guard_claim_id(db, "by/id", lock_id));
    EXPECT(0, pawl_guard_check_id(db, "by/id", lock_id, NULL));
    EXPECT(0, pawl_guard_commit(db));
    return 0;
}

/* Each of these would have failed an assert within the project. */
static int answer_wrong_calls(sqlite3 *db)
{
    struct pawl_guard_rejection none = {0};
    size_t count = 0;
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_claim(db, name, 36, NULL)); /* no transaction */
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_check(db, name, 36, NULL));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_claim_id(db, name, lock_id));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_check_id(db, name, lock_id, NULL));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_record(db, &none));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_commit(db));
    EXPECT(0, execute(db, "BEGIN; SELECT count(*) FROM orders")); /* one that only reads */
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_claim(db, name, 36, NULL));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_begin(db));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_configure(db));
    pawl_guard_rollback(db);
    EXPECT(0, pawl_guard_begin(db));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_claim(db, "no name", 36, NULL));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_claim(db, NULL, 36, NULL));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_claim(db, name, 0, NULL));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_claim_id(db, name, "short"));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_record(db, &none));
    pawl_guard_rollback(db);
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_rejections(db, 0, &none, &count));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_rejections(db, 100000, &none, &count));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_begin(NULL));
    EXPECT(PAWL_GUARD_EINVAL, pawl_guard_open(":memory:", NULL, 0, &db));
    pawl_guard_rollback(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    char text[256] = "";
    sqlite3 *db = NULL;
    if (argc != 2 || pawl_guard_open(argv[1], text, sizeof text, &db) < 0) {
        fprintf(stderr, "cannot open: %s\n", text);
        return 1;
    }
    EXPECT(0, pawl_guard_install(db));
    EXPECT(0, execute(db, "CREATE TABLE orders (what TEXT)"));
    if (refuse_stale_write(db) || admit_a_reader(db) || list_what_was_refused(db) ||
        refuse_by_identity(db) || answer_wrong_calls(db))
        return 1;
    sqlite3_close(db);
    return 0;
}
