/* The module for Redis, on a server that lends it its functions (redis_host.h). The input is lines.
 *
 *     B KEYS WORD...   a batch: each word is an argument, '-' an empty one.
 *     b KEYS BYTES     a batch: the bytes are the arguments, with \t for \n.
 *     t VIEW FLEET MEMBER   the terms of the batches that follow.
 *     L KEYS           PAWL.LEFT.
 *     K KEYS LOCK MS   PAWL.KEEP.
 *     v KEYS VALUE     another client writes these keys. Without a value it deletes them.
 *     f FIELD VALUE    another client writes a field of the marker.
 *     c MS             the clock goes on, and the server's cron runs.
 *     m                memory is full, or no more.
 *     x                FLUSHALL, and the master is admitted again.
 *
 * KEYS is a letter for each key. A batch that is refused writes nothing. Each command is answered
 * exactly once, and leaves no key open: the host holds that. */
#include "fence/protocol/decimal.h"
#include "storage/redis/keys.h"
#include "tests/fuzz/redis_host.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUT_MAX = 4096,
    LINES_MAX = 64,
    WORDS_MAX = 512,
    PASS_MAX_MS = 100000000,
    FIELD_MAX = 64,
    KEYS_MAX = 64,
    ARGUMENTS_AT = 4,
};

#define LINEAGE  "0123456789abcdef0123456789abcdef01234567:0"
#define FLEET_ID "00112233445566778899aabbccddeeff"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line in hand. */
static struct {
    struct redis_host_text words[WORDS_MAX];
    unsigned count;
    const char *rest; /* behind the first two words, up to @end */
    const char *end;
} line;

static struct redis_host_text terms[3];
static bool full;

static struct redis_host_text text(const char *terminated)
{
    return (struct redis_host_text){terminated, strlen(terminated)};
}

static void admit(void)
{
    static const char *const fields[][2] = {
        {"fleet", FLEET_ID}, {"member", "2"},      {"view", "10,20,30"}, {"durable", "no"},
        {"state", "active"}, {"lineage", LINEAGE}, {"sets", "0::0"},     {"bytes", "0"},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        redis_host_set_field(fields[i][0], fields[i][1], strlen(fields[i][1]));
}

static void split(const char *at, const char *end)
{
    line.count = 0;
    line.rest = line.end = end;
    while (at < end && line.count < WORDS_MAX) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *stop = space ? space : end;
        if (line.count == 2)
            line.rest = at;
        line.words[line.count++] = (struct redis_host_text){at, (size_t)(stop - at)};
        at = stop + 1;
    }
}

static struct redis_host_text word(unsigned i)
{
    return i < line.count ? line.words[i] : text("");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void name_key(char letter, char ret_name[static FIELD_MAX])
{
    if (letter == 'z')
        (void)snprintf(ret_name, FIELD_MAX, "another");
    else if (letter == 'y')
        (void)snprintf(ret_name, FIELD_MAX, STORAGE_LOCK_KEY);
    else
        (void)snprintf(ret_name, FIELD_MAX, STORAGE_LOCK_KEY "%c",
                       'a' + (unsigned char)letter % 16);
}

/* The keys that the second word names, behind @count arguments. */
static unsigned add_keys(struct redis_host_text args[], unsigned count,
                         char ret_names[static KEYS_MAX][FIELD_MAX])
{
    const struct redis_host_text letters = word(1);
    for (size_t i = 0; i < letters.len && i < KEYS_MAX; i++) {
        name_key(letters.at[i], ret_names[i]);
        args[count++] = text(ret_names[i]);
    }
    return count;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void run_batch(const char *arguments, size_t len)
{
    static char names[KEYS_MAX][FIELD_MAX];
    struct redis_host_text args[REDIS_HOST_ARGS_MAX] = {
        text(STORAGE_MODULE_COMMAND), terms[0], terms[1], terms[2], {arguments, len},
        text(STORAGE_FLEET_KEY),
    };
    redis_host_run(args, add_keys(args, ARGUMENTS_AT + 2, names));
    assert(!redis_host_refused() || redis_host_writes() == 0);
}

static void run_words(void)
{
    static char arguments[INPUT_MAX * 8];
    size_t len = 0;
    for (unsigned i = 2; i < line.count; i++) {
        const bool empty = line.words[i].len == 1 && *line.words[i].at == '-';
        const size_t word_len = empty ? 0 : line.words[i].len;
        len += (size_t)snprintf(arguments + len, sizeof(arguments) - len, "$%zu\r\n", word_len);
        memcpy(arguments + len, line.words[i].at, word_len);
        memcpy(arguments + len + word_len, "\r\n", 2);
        len += word_len + 2;
    }
    run_batch(arguments, len);
}

static void run_bytes(void)
{
    char arguments[INPUT_MAX];
    const size_t len = (size_t)(line.end - line.rest);
    for (size_t i = 0; i < len; i++)
        arguments[i] = line.rest[i] == '\t' ? '\n' : line.rest[i];
    run_batch(arguments, len);
}

static void run_scripted(const char *command, unsigned more)
{
    static char names[KEYS_MAX][FIELD_MAX];
    struct redis_host_text args[REDIS_HOST_ARGS_MAX] = {text(command)};
    unsigned count = add_keys(args, 1, names);
    for (unsigned i = 0; i < more && i + 2 < line.count; i++)
        args[count++] = word(2 + i);
    redis_host_run(args, count);
}

static void set_keys(void)
{
    char name[FIELD_MAX];
    const struct redis_host_text letters = word(1);
    for (size_t i = 0; i < letters.len && i < KEYS_MAX; i++) {
        name_key(letters.at[i], name);
        redis_host_set(name, line.rest < line.end ? line.rest : NULL,
                       (size_t)(line.end - line.rest));
    }
}

static void set_field(void)
{
    char name[FIELD_MAX];
    const struct redis_host_text field = word(1);
    (void)snprintf(name, sizeof(name), "%.*s", (int)(field.len < FIELD_MAX ? field.len : 0),
                   field.at);
    redis_host_set_field(name, line.count > 2 ? line.rest : NULL, (size_t)(line.end - line.rest));
}

static void pass(void)
{
    uint64_t ms = 0;
    const struct redis_host_text digits = word(1);
    if (fence_decimal_read(digits.at, digits.len, PASS_MAX_MS, &ms))
        redis_host_pass(ms);
    redis_host_tick();
}

static void act(char kind)
{
    switch (kind) {
    case 'B':
        run_words();
        break;
    case 'b':
        run_bytes();
        break;
    case 't':
        for (unsigned i = 0; i < 3; i++)
            terms[i] = word(1 + i);
        break;
    case 'L':
        run_scripted(STORAGE_MODULE_LEFT, 0);
        break;
    case 'K':
        run_scripted(STORAGE_MODULE_KEEP, 2);
        break;
    case 'v':
        set_keys();
        break;
    case 'f':
        set_field();
        break;
    case 'c':
        pass();
        break;
    case 'm':
        full = !full;
        redis_host_fill(full);
        break;
    case 'x':
        redis_host_flush();
        admit();
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    if (size > INPUT_MAX)
        return 0;
    redis_host_begin();
    admit();
    full = false;
    terms[0] = text("10,20,30");
    terms[1] = text(FLEET_ID);
    terms[2] = text("2");
    for (unsigned i = 0; at < end && i < LINES_MAX; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        split(at, stop);
        if (line.count > 0 && line.words[0].len == 1)
            act(*line.words[0].at);
        at = stop + 1;
    }
    redis_host_end();
    return 0;
}
