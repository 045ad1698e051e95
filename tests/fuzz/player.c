#include "tests/fuzz/player.h"

#include <math.h>
#include <string.h>

enum {
    ROWS_MAX = 200, /* for a statement: a table is doubled by INSERT ... SELECT */
};

unsigned player_next(struct player *player)
{
    if (player->size == 0)
        return 0;
    player->size--;
    return *player->data++;
}

const char *player_next_of(struct player *player, const char *const *list, size_t count)
{
    return list[player_next(player) % count];
}

sqlite3 *player_db(const struct player *player)
{
    return player->guarded.writers[player->who].db;
}

int player_run(struct player *player, const char *text)
{
    return sqlite3_exec(player_db(player), text, NULL, NULL, NULL);
}

/* ---- values ---------------------------------------------------------------------------------- */

static const int64_t integers[] = {
    INT64_MIN,        -1,        0, 1, 2, 5, INT64_C(1) << 31, (INT64_C(1) << 53) - 1,
    INT64_C(1) << 53, INT64_MAX,
};

static const double reals[] = {
    -0.0, 1.0, 1.5, 5.0, 9007199254740991.0, 9007199254740992.0, 9.3e18, -1e300, 1e308, INFINITY,
};

static const char *const texts[] = {
    "a", "b/1", "c", "never/claimed", "d//e", "..", "claim", "write", "A", "b/1 ",
};

static const char *const tables[] = {
    "u", "U", "w", "t", "view", "pawl_rejection", "sqlite_schema", "main.t", "x.t", "a\"b", "none",
};

static const char *const expressions[] = {
    "r",         "k",        "'u/' || k",  "g",      "NULL",          "1, 2",
    "random()",  "r --",     "r /*",       "r); --", "(SELECT k)",    "1) UNION SELECT (2",
    "max(r, k)", "\"none\"", "\"a\"\"b\"", "NEW.r",  "pawl_token(r)", "pawl_claimed(r, 9)",
};

static void set_text(struct value *value, const char *text)
{
    value->type = SQLITE_TEXT;
    value->len = strlen(text);
    memcpy(value->bytes, text, value->len + 1);
}

static void set_bytes(struct player *player, struct value *value, int type)
{
    size_t len = (size_t)player_next(player) * 2;
    len = len < player->size ? len : player->size;
    value->type = type;
    value->len = len < TEXT_MAX ? len : TEXT_MAX;
    memcpy(value->bytes, player->data, value->len);
    value->bytes[value->len] = '\0';
    player->data += len;
    player->size -= len;
}

static void set_any(struct player *player, struct value *value)
{
    switch (player_next(player) % 8) {
    case 0:
        value->type = SQLITE_INTEGER;
        value->integer = integers[player_next(player) % COUNT(integers)];
        break;
    case 1:
        value->type = SQLITE_INTEGER;
        value->integer = player_next(player);
        break;
    case 2:
        value->type = SQLITE_FLOAT;
        value->real = reals[player_next(player) % COUNT(reals)];
        break;
    case 3:
        set_text(value, player_next_of(player, texts, COUNT(texts)));
        break;
    case 4:
        set_bytes(player, value, SQLITE_TEXT);
        break;
    case 5:
        set_bytes(player, value, SQLITE_BLOB);
        break;
    default:
        value->type = SQLITE_NULL;
    }
}

/* @token + 1, or up to two less than @token. */
static int64_t near(int64_t token, unsigned less)
{
    return token < INT64_MAX ? token + 1 - less : token;
}

void player_set_wanted(struct player *player, struct value *value, char wanted)
{
    *value = (struct value){.type = SQLITE_INTEGER};
    if (player_next(player) % 8 == 0)
        set_any(player, value);
    else if (wanted == 'n')
        value->integer = player_next(player) % 12;
    else if (wanted == 'h')
        value->integer = near(player->guarded.files[0].highest[player_next(player) % GUARDED_NAMES],
                              player_next(player) % 4);
    else if (wanted == 'r')
        set_text(value, player_next_of(player, guarded_names, GUARDED_NAMES));
    else if (wanted == 't')
        set_text(value, player_next_of(player, tables, COUNT(tables)));
    else if (wanted == 'e')
        set_text(value, player_next_of(player, expressions, COUNT(expressions)));
    else
        set_text(value, player_next(player) % 2 ? "claim" : "write");
}

static void bind_value(sqlite3_stmt *stmt, int at, const struct value *value)
{
    if (value->type == SQLITE_INTEGER)
        (void)sqlite3_bind_int64(stmt, at, value->integer);
    else if (value->type == SQLITE_FLOAT)
        (void)sqlite3_bind_double(stmt, at, value->real);
    else if (value->type == SQLITE_TEXT)
        (void)sqlite3_bind_text(stmt, at, value->bytes, (int)value->len, SQLITE_TRANSIENT);
    else if (value->type == SQLITE_BLOB)
        (void)sqlite3_bind_blob(stmt, at, value->bytes, (int)value->len, SQLITE_TRANSIENT);
    else
        (void)sqlite3_bind_null(stmt, at);
}

sqlite3_stmt *player_prepare(struct player *player, const char *text, const char *wanted)
{
    sqlite3_stmt *stmt = NULL;
    const size_t count = strlen(wanted);
    for (size_t i = 0; i < count; i++)
        player_set_wanted(player, &player->values[i], wanted[i]);
    if (sqlite3_prepare_v2(player_db(player), text, -1, &stmt, NULL) != SQLITE_OK)
        return NULL;
    for (size_t i = 0; i < count; i++)
        bind_value(stmt, (int)i + 1, &player->values[i]);
    return stmt;
}

int64_t player_finish(sqlite3_stmt *stmt, int *ret_code)
{
    int64_t answer = 0;
    for (size_t i = 0; i < ROWS_MAX && sqlite3_step(stmt) == SQLITE_ROW; i++)
        answer = sqlite3_column_int64(stmt, 0);
    *ret_code = sqlite3_finalize(stmt);
    return answer;
}
