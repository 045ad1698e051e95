#include "api/auth/key.h"

#include "fence/protocol/decimal.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key while its line is read. */
struct reading {
    struct api_key *key;
    bool has_hash, has_role;
    char *why;
};

static __attribute__((format(printf, 2, 3))) int refuse_line(struct reading *reading,
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reading->why, API_KEY_WHY_MAX, format, args);
    va_end(args);
    return FENCE_EINVAL;
}

bool api_key_prefix_valid(const char *prefix)
{
    char name[FENCE_RESOURCE_MAX + 2];
    const size_t len = strlen(prefix);
    if (len > FENCE_RESOURCE_MAX)
        return false;
    if (len == FENCE_RESOURCE_MAX)
        return fence_resource_valid(prefix, len);
    (void)snprintf(name, sizeof(name), "%sx", prefix);
    return fence_resource_valid(name, len + 1);
}

/* ---- the members of a line ------------------------------------------------------------------- */

static int read_digest(struct reading *reading, const char *value)
{
    if (reading->has_hash)
        return refuse_line(reading, "hash= is given twice; give it once");
    reading->has_hash = true;
    if (api_digest_read(value, &reading->key->digest) != 0)
        return refuse_line(reading, "hash= takes the value that pawl key new prints: 22 "
                                    "characters of base64url, a '.', then 43 characters of "
                                    "base64url");
    return 0;
}

static int read_role(struct reading *reading, const char *value)
{
    if (reading->has_role)
        return refuse_line(reading, "role= is given twice; give one role");
    reading->has_role = true;
    if (!api_right_parse(value, &reading->key->right))
        return refuse_line(reading, "role= takes read, lock or admin, not '%.40s'", value);
    return 0;
}

static int read_prefix(struct reading *reading, const char *value)
{
    struct api_key *key = reading->key;
    if (key->prefixes_count == API_KEY_PREFIXES_MAX)
        return refuse_line(reading, "a key has at most %d prefixes; create a second key",
                           API_KEY_PREFIXES_MAX);
    if (value[0] == '\0')
        return refuse_line(reading, "prefix= takes the beginning of names, or * for all names");
    const char *prefix = strcmp(value, "*") == 0 ? "" : value;
    if (!api_key_prefix_valid(prefix))
        return refuse_line(reading,
                           "no name can begin with the prefix '%.40s': use only A-Z a-z 0-9 . _ ~ "
                           ": @ / - and no empty, \".\" or \"..\" segment",
                           value);
    assert(key->prefixes_count < API_KEY_PREFIXES_MAX);
    key->prefixes[key->prefixes_count++] = prefix;
    return 0;
}

static int read_amount(struct reading *reading, const char *name, const char *value, uint32_t max,
                       uint32_t *ret_amount)
{
    uint64_t amount = 0;
    if (*ret_amount != 0)
        return refuse_line(reading, "%s= is given twice; give it once", name);
    if (!fence_decimal_read(value, strlen(value), max, &amount) || amount == 0)
        return refuse_line(reading, "%s= takes a number from 1 to %u, not '%.40s'", name,
                           (unsigned)max, value);
    *ret_amount = (uint32_t)amount;
    return 0;
}

static int read_key_member(struct reading *reading, const char *name, const char *value)
{
    struct api_key *key = reading->key;
    if (strcmp(name, "hash") == 0)
        return read_digest(reading, value);
    if (strcmp(name, "role") == 0)
        return read_role(reading, value);
    if (strcmp(name, "prefix") == 0)
        return read_prefix(reading, value);
    if (strcmp(name, "rate") == 0)
        return read_amount(reading, name, value, API_KEY_RATE_MAX, &key->rate);
    if (strcmp(name, "burst") == 0)
        return read_amount(reading, name, value, API_KEY_RATE_MAX, &key->burst);
    if (strcmp(name, "held") == 0)
        return read_amount(reading, name, value, API_KEY_HELD_MAX, &key->held);
    return refuse_line(
        reading,
        "'%.40s=' is unknown; a line has hash=, role=, prefix=, rate=, burst=, held= and subject=",
        name);
}

/* ---- the line -------------------------------------------------------------------------------- */

static const char blanks[] = " \t";

static int read_key_id(struct reading *reading, const char *id)
{
    const size_t len = strlen(id);
    if (!fence_key_id_valid(id, len))
        return refuse_line(reading,
                           "a line begins with the id of the key, %d to %d characters of a-z 0-9 "
                           "-, not '%.40s'",
                           FENCE_KEY_ID_MIN, FENCE_KEY_ID_MAX, id);
    assert(len < sizeof(reading->key->id) && reading->key->id[0] == '\0');
    memcpy(reading->key->id, id, len);
    return 0;
}

/* The rest of the line. */
static int read_subject(struct reading *reading, const char *subject)
{
    const size_t len = strlen(subject);
    if (len == 0 || len > API_KEY_SUBJECT_MAX || !fence_label_valid(subject, len))
        return refuse_line(reading,
                           "subject= takes the common name of a client certificate, 1 to %d bytes "
                           "of UTF-8, as the last word of the line",
                           API_KEY_SUBJECT_MAX);
    assert(reading->key->subject == NULL); /* it reaches to the end of the line */
    reading->key->subject = subject;
    return 0;
}

/* Reads the words from @at on, which are ended in place. */
static int read_words(struct reading *reading, char *at)
{
    static const char subject[] = "subject=";
    int result = 0;
    while (result == 0 && *(at += strspn(at, blanks)) != '\0') {
        if (strncmp(at, subject, sizeof(subject) - 1) == 0)
            return read_subject(reading, at + sizeof(subject) - 1);
        char *end = at + strcspn(at, blanks);
        char *value = memchr(at, '=', (size_t)(end - at));
        if (value == NULL)
            return refuse_line(reading, "'%.*s' has no '='; a line is an id, then name=value words",
                               (int)(end - at < 40 ? end - at : 40), at);
        const bool last = *end == '\0';
        assert(value < end);
        *end = '\0';
        *value = '\0';
        result = read_key_member(reading, at, value + 1);
        at = last ? end : end + 1;
    }
    return result;
}

static int check_whole(struct reading *reading)
{
    struct api_key *key = reading->key;
    if (!reading->has_hash)
        return refuse_line(reading, "hash= is missing; pawl key new prints the whole line");
    if (!reading->has_role)
        return refuse_line(reading, "role= is missing: give read, lock or admin");
    if (key->prefixes_count == 0)
        return refuse_line(reading,
                           "prefix= is missing: give the beginning of names, or * for all names");
    if (key->burst != 0 && key->rate == 0)
        return refuse_line(reading, "burst= needs rate=: add the maximum number of calls a second");
    if (key->burst == 0)
        key->burst = key->rate;
    assert((key->burst == 0) == (key->rate == 0));
    return 0;
}

static int read_line(struct reading *reading)
{
    char *line = reading->key->line;
    size_t len = strlen(line);
    while (len > 0 && strchr(blanks, line[len - 1]) != NULL)
        line[--len] = '\0';
    line += strspn(line, blanks);
    char *end = line + strcspn(line, blanks);
    char *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    int result = read_key_id(reading, line);
    if (result == 0)
        result = read_words(reading, rest);
    return result == 0 ? check_whole(reading) : result;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): refuse_line() writes to it */
int api_key_parse(const char *line, size_t len, char ret_why[static API_KEY_WHY_MAX],
                  struct api_key **ret_key)
{
    struct reading reading = {.why = ret_why};
    if (len > API_KEY_LINE_MAX)
        return refuse_line(&reading, "a line has at most %d bytes", API_KEY_LINE_MAX);
    if (memchr(line, '\0', len) != NULL)
        return refuse_line(&reading, "the line has a NUL byte: is this a text file?");
    struct api_key *key = calloc(1, sizeof(*key) + len + 1);
    if (key == NULL)
        return FENCE_ENOMEM;
    key->refs = 1;
    memcpy(key->line, line, len);
    reading.key = key;

    int result = read_line(&reading);
    if (result == 0)
        result = api_usage_new(&key->usage);
    if (result != 0) {
        api_key_unref(key);
        return result;
    }
    *ret_key = key;
    return 0;
}

struct api_key *api_key_ref(struct api_key *key)
{
    assert(atomic_load_explicit(&key->refs, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&key->refs, 1, memory_order_relaxed);
    return key;
}

void api_key_unref(struct api_key *key)
{
    if (key == NULL || atomic_fetch_sub_explicit(&key->refs, 1, memory_order_acq_rel) > 1)
        return;
    api_usage_unref(key->usage);
    free(key);
}

bool api_key_reaches(const struct api_key *key, const char *name)
{
    for (unsigned i = 0; i < key->prefixes_count; i++)
        if (strncmp(name, key->prefixes[i], strlen(key->prefixes[i])) == 0)
            return true;
    return false;
}
