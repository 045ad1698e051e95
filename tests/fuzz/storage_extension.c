/* Programs of others call the functions of pawl.so, and those of the library for C, with any
 * arguments and in any order. An input is a sequence of statements: the first byte of each says
 * what it is, and which of three connections runs it. After each, guarded_look() asserts what has
 * to be true. */
#include "storage/guard/library/pawl_guard.h"
#include "tests/fuzz/player.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    STATEMENTS_MAX = 64,
    REJECTIONS_MAX = 4,
    CLAIMS = 2,   /* the first calls */
    READS = 2,    /* the last calls */
    STARVED = 15, /* the upper half of a first byte */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    guarded_begin();
    return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

struct call {
    const char *text, *wanted;
    bool judges; /* and answers the token */
};

static const struct call calls[] = {
    {"SELECT pawl_claim(?1, ?2)", "rh", true},
    {"SELECT pawl_check(?1, ?2)", "rh", true},
    {"SELECT pawl_claim(?1, ?2), pawl_check(?1, ?2)", "rn", true},
    {"SELECT pawl_claim(?1, ?2) FROM t", "rh", false},
    {"SELECT pawl_token(?1)", "r", false},
    {"SELECT pawl_claimed(?1, ?2)", "rn", false},
    {"SELECT pawl_record(?1, ?2, ?3)", "rnk", false},
    {"SELECT pawl_forget()", "", false},
    {"SELECT pawl_install()", "", false},
    {"SELECT pawl_protect(?1, ?2)", "te", false},
    {"SELECT pawl_unprotect(?1)", "t", false},
    {"SELECT pawl_protect('u', ?1)", "e", false},
    {"INSERT INTO u (k, r) SELECT ?1, pawl_claim(?1, ?2)", "rn", false},
    {"UPDATE t SET v = pawl_check(?1, ?2) + 100 WHERE r = ?1", "rn", false},
    {"SELECT pawl_claim_read(?1, ?2)", "rh", true},
    {"SELECT pawl_check_read(?1, ?2)", "rh", true},
};

/* One of the calls of writers and readers. */
static const struct call *next_judgement(struct player *player)
{
    const size_t index = player_next(player) % (CLAIMS + READS);
    return &calls[index < CLAIMS ? index : COUNT(calls) - READS + index - CLAIMS];
}

static int64_t token_of(const struct value *value)
{
    if (value->type == SQLITE_FLOAT && fabs(value->real) < 9e18)
        return (int64_t)value->real;
    return value->type == SQLITE_INTEGER ? value->integer : 0;
}

/* Before the call: a token may be known from a call that failed later. One that was refused counts
 * for nothing. */
static void note_call(struct player *player, const struct call *call)
{
    const struct value *first = &player->values[0];
    if (strstr(call->text, "_read")) {
        guarded_read(&player->guarded, player->who);
        return;
    }
    if (call->wanted[0] == 'r' && call->wanted[1] != '\0' && first->type == SQLITE_TEXT)
        guarded_bring(&player->guarded, player->who, first->bytes, token_of(&player->values[1]));
    if (call->wanted[0] == 't' && first->type == SQLITE_TEXT && strcasecmp(first->bytes, "t") == 0)
        player->guarded.is_protected = false;
}

/* The text of a refusal. Other errors are SQLite's. */
static void check_refusal(sqlite3 *db, int code)
{
    const char *text = sqlite3_errmsg(db);
    if (sqlite3_extended_errcode(db) == SQLITE_CONSTRAINT_FUNCTION)
        assert(strncmp(text, "stale-token: ", 13) == 0 || strncmp(text, "unclaimed: ", 11) == 0);
    assert(code != SQLITE_MISUSE && code != SQLITE_CORRUPT && code != SQLITE_INTERNAL);
}

static void play_call(struct player *player, const struct call *call)
{
    sqlite3 *db = player_db(player);
    const int alone = sqlite3_get_autocommit(db);
    int code = SQLITE_OK;
    sqlite3_stmt *stmt = player_prepare(player, call->text, call->wanted);
    if (!stmt)
        return;
    note_call(player, call);
    const int64_t answer = player_finish(stmt, &code);
    check_refusal(db, code);
    assert(sqlite3_get_autocommit(db) == alone || player->starves);
    if (call->judges && code == SQLITE_OK)
        assert(answer >= 1 && answer < INT64_C(1) << 53 && answer == token_of(&player->values[1]));
    if (strstr(call->text, "forget") && alone)
        guarded_forget(&player->guarded, player->who);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void play_savepoint(struct player *player)
{
    static const char *const names[] = {"s", "pawl_step"};
    static const char *const verbs[] = {"SAVEPOINT", "ROLLBACK TO", "RELEASE"};
    struct savepoints *stand = &player->savepoints[player->who];
    const unsigned verb = player_next(player) % COUNT(verbs);
    const char *name = player_next_of(player, names, COUNT(names));
    char text[32];
    size_t at = stand->count;
    if (verb == 0 && stand->count == SAVEPOINTS_MAX)
        return;
    while (at > 0 && stand->names[at - 1] != name)
        at--;
    (void)snprintf(text, sizeof(text), "%s %s", verbs[verb], name);
    const int code = player_run(player, text);
    /* No function of the guard ends a savepoint of the program, and none leaves one behind. */
    if (verb == 0 && code == SQLITE_OK)
        stand->names[stand->count++] = name;
    else if (verb != 0)
        assert((code == SQLITE_OK) == (at > 0) || player->starves);
    if (verb != 0 && at > 0)
        stand->count = verb == 1 ? at : at - 1;
}

/* One that is open ends soon, as others wait for it. */
static void play_transaction(struct player *player)
{
    static const char *const begins[] = {"BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"};
    static const char *const ends[] = {"COMMIT", "COMMIT", "ROLLBACK"};
    if (player_next(player) % 2)
        play_savepoint(player);
    else if (sqlite3_get_autocommit(player_db(player)))
        (void)player_run(player, player_next_of(player, begins, COUNT(begins)));
    else
        (void)player_run(player, player_next_of(player, ends, COUNT(ends)));
}

/* A statement that reads, and stays open. */
static void play_cursor(struct player *player)
{
    sqlite3_stmt **cursor = &player->cursor[player->who];
    if (*cursor) {
        (void)sqlite3_finalize(*cursor);
        *cursor = NULL;
        return;
    }
    *cursor = player_prepare(player, "SELECT * FROM main.t, main.pawl_guard", "");
    if (*cursor)
        (void)sqlite3_step(*cursor);
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* ?1 is a number, ?2 a resource, ?3 a number. Statements that begin with R or have OR REPLACE are
 * left out where a program has a trigger: EXTENSION.md says what they leave. */
static const char *const writes[] = {
    "INSERT INTO %s (id, r, v) VALUES (?1, ?2, ?3)",
    "INSERT INTO %s (r, v) VALUES (?2, ?3)",
    "INSERT OR IGNORE INTO %s (id, r, v) VALUES (?1, ?2, ?3)",
    "INSERT OR FAIL INTO %s (id, r, v) VALUES (?1, ?2, ?3), (?1 + 1, ?2, ?3 + 1), (9, 'c', 9)",
    "INSERT INTO %s (id, r, v) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    "INSERT INTO %s (id, r, v) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET r = ?2, v = ?3",
    "INSERT INTO %s (id, r, v) VALUES (?1, ?2, ?3) ON CONFLICT (v) DO UPDATE SET v = v + 20",
    "INSERT INTO %s (id, r, v) SELECT id + 20 + ?1, ?2, v + 20 + ?3 FROM t LIMIT 3",
    "UPDATE %s SET r = ?2 WHERE id = ?1",
    "UPDATE %s SET v = v + 1 + ?3 WHERE r = ?2",
    "UPDATE OR IGNORE %s SET id = ?1, r = ?2 WHERE v >= ?3",
    "UPDATE OR FAIL %s SET v = ?3 + id WHERE id >= ?1 AND r <> ?2",
    "UPDATE OR ROLLBACK %s SET v = ?3, r = ?2 WHERE id >= ?1",
    "DELETE FROM %s WHERE id = ?1 OR r = ?2 OR v = ?3",
    "DELETE FROM %s WHERE id + v + length(?2) > ?1 + ?3 RETURNING id",
    "INSERT OR REPLACE INTO %s (id, r, v) VALUES (?1, ?2, ?3)",
    "UPDATE OR REPLACE %s SET v = ?3, r = ?2 WHERE id = ?1",
    "REPLACE INTO %s (id, r, v) SELECT id + ?1, ?2, v + ?3 FROM t",
};

static void play_write(struct player *player)
{
    static const char *const names[] = {"t", "t", "t", "main.t", "x.t", "temp.t"};
    char text[256];
    int code;
    const char *form = player_next_of(player, writes, COUNT(writes));
    if (player->guarded.has_trigger && (form[0] == 'R' || strstr(form, "OR REPLACE")))
        return;
    (void)sqlite3_snprintf(sizeof(text), text, form, player_next_of(player, names, COUNT(names)));
    sqlite3_stmt *stmt = player_prepare(player, text, "nrn");
    if (!stmt)
        return;
    (void)player_finish(stmt, &code);
    check_refusal(player_db(player), code);
}

/* A slip at the prompt: the guard only rises. */
static void play_slip(struct player *player)
{
    static const char *const slips[] = {
        "UPDATE pawl_guard SET highest_token = ?1 WHERE resource = ?2",
        "UPDATE OR IGNORE pawl_guard SET highest_token = highest_token - ?1",
        "REPLACE INTO pawl_guard (resource, highest_token) VALUES (?2, ?1)",
        "INSERT INTO pawl_guard VALUES (?2, ?1, ?1) ON CONFLICT DO UPDATE SET highest_token = ?1",
        "DELETE FROM pawl_guard WHERE resource = ?2 OR ?1",
        "UPDATE OR REPLACE pawl_guard SET resource = ?2 WHERE highest_token >= ?1",
        "DELETE FROM pawl_rejection",
        "INSERT INTO pawl_guard_id VALUES (?2, ?1)",
        "UPDATE pawl_guard SET reader_token = ?1 WHERE resource = ?2",
        "UPDATE OR IGNORE pawl_guard SET reader_token = reader_token - ?1",
        "REPLACE INTO pawl_guard VALUES (?2, 100, ?1)",
    };
    int code;
    sqlite3_stmt *stmt = player_prepare(player, player_next_of(player, slips, COUNT(slips)), "nr");
    if (!stmt)
        return;
    (void)player_finish(stmt, &code);
    player->guarded.writers[player->who].raises_by_hand = true;
}

/* ---- schemas and settings -------------------------------------------------------------------- */

static const char *const triggers[] = {
    "CREATE TRIGGER after_i AFTER INSERT ON t WHEN NEW.v > 5 BEGIN SELECT RAISE(FAIL, 'own'); END",
    "CREATE TRIGGER after_u AFTER UPDATE ON t WHEN NEW.v > 5 BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER after_d AFTER DELETE ON t BEGIN SELECT RAISE(FAIL, 'own'); END",
    "CREATE TRIGGER before_i BEFORE INSERT ON t WHEN NEW.v > 8 BEGIN SELECT RAISE(ROLLBACK, ''); "
    "END",
    "CREATE TEMP TRIGGER temp_i AFTER INSERT ON main.t BEGIN SELECT RAISE(FAIL, 'own'); END",
    "CREATE TEMP TRIGGER temp_u BEFORE UPDATE ON main.t WHEN NEW.v > 7 BEGIN SELECT RAISE(IGNORE); "
    "END",
};

static const char *const changes[] = {
    "ALTER TABLE t ADD COLUMN d",
    "ALTER TABLE t ADD COLUMN e NOT NULL DEFAULT 'a'",
    "CREATE UNIQUE INDEX i ON t (r, v)",
    "CREATE UNIQUE INDEX j ON t (abs(v)) WHERE v > 3",
    "CREATE INDEX k ON t (r)",
    "DROP INDEX i",
    "ALTER TABLE u RENAME TO w",
    "ALTER TABLE w RENAME TO u",
    "ALTER TABLE u RENAME COLUMN k TO \"a\"\"b\"",
    "ALTER TABLE u DROP COLUMN g",
    "DROP TABLE u",
    "CREATE TABLE u (k TEXT, r, PRIMARY KEY (k, r)) WITHOUT ROWID",
    "CREATE TABLE w (k INTEGER PRIMARY KEY AUTOINCREMENT, r TEXT NOT NULL DEFAULT 'b/1')",
    "CREATE TABLE w (k INTEGER PRIMARY KEY, r UNIQUE COLLATE NOCASE, g AS (k || r) STORED)",
    "CREATE VIEW view AS SELECT id AS k, r FROM t",
    "CREATE TEMP TABLE t (id, r, v)",
    "CREATE TEMP TABLE u (k, r)",
    "CREATE TEMP TABLE pawl_guard (resource PRIMARY KEY, highest_token)",
    "DROP TABLE temp.t",
    "VACUUM",
    "REINDEX",
    "ATTACH '%s' AS x",
    "DETACH x",
};

static const char *const settings[] = {
    "PRAGMA recursive_triggers = OFF",
    "PRAGMA recursive_triggers = ON",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA journal_mode = MEMORY",
    "PRAGMA journal_mode = WAL",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA trusted_schema = ON",
    "PRAGMA ignore_check_constraints = ON",
    "PRAGMA foreign_keys = ON",
    "PRAGMA case_sensitive_like = ON",
    "PRAGMA locking_mode = NORMAL",
    "PRAGMA defer_foreign_keys = ON",
    "PRAGMA count_changes = ON",
    "PRAGMA reverse_unordered_selects = ON",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA encoding = 'UTF-16'",
    "PRAGMA full_column_names = ON",
};

static void play_change(struct player *player)
{
    char text[128];
    if (player_next(player) % 4 == 0) {
        player->guarded.has_trigger = true;
        (void)player_run(player, player_next_of(player, triggers, COUNT(triggers)));
        return;
    }
    (void)sqlite3_snprintf(sizeof(text), text, player_next_of(player, changes, COUNT(changes)),
                           player->guarded.files[1].path);
    (void)player_run(player, text);
}

/* ---- the library ----------------------------------------------------------------------------- */

/* A text as programs in C have them: it ends at a NUL. */
static const char *name_of(struct player *player, struct value *value)
{
    player_set_wanted(player, value, 'r');
    return value->type == SQLITE_TEXT || value->type == SQLITE_BLOB ? value->bytes : NULL;
}

static void play_judgement(struct player *player, sqlite3 *db)
{
    static int (*const judges[])(sqlite3 *, const char *, int64_t,
                                 struct pawl_guard_rejection *) = {
        pawl_guard_check, pawl_guard_claim, pawl_guard_check_read, pawl_guard_claim_read};
    struct pawl_guard_rejection rejection = {.token = 0};
    const char *name = name_of(player, &player->values[0]);
    player_set_wanted(player, &player->values[1], 'n');
    const int64_t token = token_of(&player->values[1]);
    const size_t judge = player_next(player) % COUNT(judges);
    const bool reads = judge >= CLAIMS;
    if (reads)
        guarded_read(&player->guarded, player->who);
    const int error = judges[judge](db, name, token, &rejection);
    if (error == PAWL_GUARD_ESTALE) {
        assert(rejection.token == token && rejection.highest_token >= token + reads);
        (void)!pawl_guard_record(db, &rejection);
    }
    assert(error != 0 || (token >= 1 && token < INT64_C(1) << 53 && name));
}

static void play_identity(struct player *player, sqlite3 *db)
{
    struct pawl_guard_rejection rejections[REJECTIONS_MAX] = {{.token = 0}};
    size_t count = 0;
    const char *name = name_of(player, &player->values[0]);
    const char *id = name_of(player, &player->values[1]);
    const int claimed = pawl_guard_claim_id(db, name, id);
    const int checked = pawl_guard_check_id(db, name, id, &rejections[0]);
    assert(claimed != 0 || checked == 0);
    rejections[0].kind = (int32_t)player_next(player);
    (void)!pawl_guard_record(db, &rejections[0]);
    if (pawl_guard_rejections(db, player_next(player) % (REJECTIONS_MAX + 1), rejections, &count) ==
        0)
        assert(count <= REJECTIONS_MAX);
}

static void play_library(struct player *player)
{
    sqlite3 *db = player->guarded.writers[GUARDED_LIBRARY].db;
    player->who = GUARDED_LIBRARY;
    switch (player_next(player) % 6) {
    case 0:
        (void)!pawl_guard_begin(db);
        break;
    case 1:
        (void)!pawl_guard_commit(db);
        break;
    case 2:
        pawl_guard_rollback(db);
        break;
    case 3:
        if (sqlite3_get_autocommit(db) && pawl_guard_configure(db) == 0)
            (void)!pawl_guard_install(db);
        (void)sqlite3_busy_timeout(db, 0); /* configure() waits */
        break;
    case 4:
        play_identity(player, db);
        break;
    default:
        play_judgement(player, db);
    }
}

/* ---- one input ------------------------------------------------------------------------------- */

static void look(struct player *player)
{
    if (!sqlite3_get_autocommit(player_db(player)))
        return;
    player->savepoints[player->who].count = 0;
    guarded_look(&player->guarded, player->who);
}

/* Two writers or readers claim, and the first one writes: maybe it comes too late. */
static void play_race(struct player *player)
{
    if (player->starves)
        return; /* only one writer is rolled back then */
    const size_t who = player->who % GUARDED_LIBRARY;
    for (size_t i = 0; i < 2; i++) {
        player->who = i == 0 ? who : 1 - who;
        play_call(player, next_judgement(player));
        look(player);
    }
    player->who = who;
    play_write(player);
}

static void play_one(struct player *player, unsigned byte)
{
    switch (byte % 16) {
    case 0:
        play_slip(player);
        break;
    case 1:
        play_change(player);
        break;
    case 2:
        (void)player_run(player, player_next_of(player, settings, COUNT(settings)));
        break;
    case 3:
        play_cursor(player);
        break;
    case 4:
    case 5:
        play_library(player);
        break;
    case 6:
        play_race(player);
        break;
    case 7:
    case 8:
        play_transaction(player);
        break;
    case 9:
    case 10:
    case 11:
    case 12:
        play_write(player);
        break;
    case 13:
        play_call(player, &calls[player_next(player) % CLAIMS]);
        break;
    case 14:
        play_call(player, next_judgement(player));
        break;
    default:
        play_call(player, &calls[player_next(player) % COUNT(calls)]);
    }
}

/* A program whose memory is short rolls back. */
static void play_starved(struct player *player, unsigned byte)
{
    player->starves = true;
    (void)guarded_starve(player_next(player) + 1);
    play_one(player, byte);
    player->starves = false;
    if (guarded_starve(0) && !sqlite3_get_autocommit(player_db(player)))
        assert(player_run(player, "ROLLBACK") == SQLITE_OK);
}

static void play_statement(struct player *player)
{
    const unsigned byte = player_next(player);
    player->who = (byte >> 6) % GUARDED_WRITERS;
    if (byte >> 4 == STARVED)
        play_starved(player, byte);
    else
        play_one(player, byte);
    look(player);
}

/* The writer goes on as one that has just connected. */
static void check_usable(struct player *player)
{
    (void)sqlite3_finalize(player->cursor[player->who]);
    player->cursor[player->who] = NULL;
    if (!sqlite3_get_autocommit(player_db(player)))
        assert(player_run(player, "ROLLBACK") == SQLITE_OK);
}

static void check_all_usable(struct player *player)
{
    for (player->who = 0; player->who < GUARDED_WRITERS; player->who++)
        check_usable(player);
    for (player->who = 0; player->who < GUARDED_WRITERS; player->who++) {
        assert(player_run(player, "BEGIN IMMEDIATE; UPDATE main.pawl_guard SET resource ="
                                  " resource; COMMIT") == SQLITE_OK);
        assert(player->who == GUARDED_LIBRARY ||
               player_run(player, "SELECT pawl_token('a')") == SQLITE_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct player *player = calloc(1, sizeof(*player));
    assert(player);
    player->data = data;
    player->size = size;
    guarded_open(&player->guarded);
    for (size_t i = 0; i < STATEMENTS_MAX && player->size > 0; i++)
        play_statement(player);
    check_all_usable(player);
    guarded_close(&player->guarded);
    free(player);
    return 0;
}
