#include "api/auth/keys.h"

#include "fence/protocol/name.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

enum {
    SLOTS = 4 * API_KEYS_MAX, /* a power of two */
    FREE = 0x8000,            /* in a slot: it is free, and the rest is a decoy */
};

struct api_keys {
    atomic_uint refs;
    unsigned count;
    unsigned char
        seed[crypto_shorthash_KEYBYTES]; /* seed of the hash of ids, because callers choose ids */
    struct api_key *keys[API_KEYS_MAX];
    uint16_t slots[SLOTS]; /* number of a key plus 1; 0, or FREE: free */
};

/* ---- looking up ------------------------------------------------------------------------------ */

static bool is_free_slot(uint16_t slot)
{
    return slot == 0 || (slot & FREE) != 0;
}

static unsigned first_slot(const struct api_keys *keys, const char *id)
{
    uint64_t hash;
    unsigned char bytes[crypto_shorthash_BYTES];
    (void)crypto_shorthash(bytes, (const unsigned char *)id, FENCE_KEY_ID_MAX, keys->seed);
    static_assert(sizeof(hash) == sizeof(bytes), "the whole hash");
    memcpy(&hash, bytes, sizeof(hash));
    return (unsigned)(hash % SLOTS);
}

/* The slot of @id, zeros behind it, or the free one where it would stand. */
static unsigned slot_of(const struct api_keys *keys, const char id[static FENCE_KEY_ID_MAX + 1])
{
    assert(keys->count <= API_KEYS_MAX); /* a quarter of the slots: one is free */
    unsigned slot = first_slot(keys, id);
    while (!is_free_slot(keys->slots[slot]) &&
           memcmp(keys->keys[keys->slots[slot] - 1]->id, id, FENCE_KEY_ID_MAX) != 0)
        slot = (slot + 1) % SLOTS;
    return slot;
}

static struct api_key *key_of_id(const struct api_keys *keys, const char *id)
{
    const uint16_t number = keys->slots[slot_of(keys, id)];
    assert(is_free_slot(number) || number <= keys->count);
    return is_free_slot(number) ? NULL : keys->keys[number - 1];
}

bool api_keys_has(const struct api_keys *keys, const char *id)
{
    char padded[FENCE_KEY_ID_MAX + 1] = "";
    (void)snprintf(padded, sizeof(padded), "%s", id);
    return key_of_id(keys, padded) != NULL;
}

/* As slot_of(), but an unknown id takes the same path through memory: its free slot names a decoy,
 * whose id is compared and whose digest will be. *@ret_known: the result is no decoy. */
static struct api_key *key_or_decoy(const struct api_keys *keys,
                                    const char id[static FENCE_KEY_ID_MAX + 1], bool *ret_known)
{
    assert(keys->count > 0);
    unsigned slot = first_slot(keys, id);
    for (;; slot = (slot + 1) % SLOTS) {
        const uint16_t number = keys->slots[slot];
        struct api_key *key = keys->keys[(number & ~FREE) - 1];
        const unsigned same = sodium_memcmp(key->id, id, FENCE_KEY_ID_MAX) == 0;
        if ((same | (number & FREE)) == 0) /* one branch for both ends */
            continue;
        *ret_known = same != 0;
        return key;
    }
}

struct api_key *api_keys_verify(const struct api_keys *keys, const char *text)
{
    struct api_key_text shown;
    bool known = false;
    if (keys->count == 0 || api_key_text_read(text, &shown) != 0)
        return NULL;
    struct api_key *key = key_or_decoy(keys, shown.id, &known);
    const bool matches = api_digest_matches(&key->digest, shown.secret);
    sodium_memzero(&shown, sizeof(shown));
    return matches && known ? key : NULL;
}

/* Gives each free slot a decoy, once all keys are in. */
static void add_decoys(struct api_keys *keys)
{
    for (unsigned i = 0; i < SLOTS && keys->count > 0; i++)
        if (keys->slots[i] == 0)
            keys->slots[i] = (uint16_t)(FREE | (1 + randombytes_uniform(keys->count)));
}

struct api_key *api_keys_of_subject(const struct api_keys *keys, const char *subject)
{
    for (unsigned i = 0; i < keys->count; i++)
        if (keys->keys[i]->subject != NULL && strcmp(keys->keys[i]->subject, subject) == 0)
            return keys->keys[i];
    return NULL;
}

unsigned api_keys_count(const struct api_keys *keys)
{
    return keys->count;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int keep_key(struct api_keys *keys, struct api_key *key,
                    char ret_why[static API_KEY_WHY_MAX])
{
    const unsigned slot = slot_of(keys, key->id);
    const char *what = NULL;
    if (keys->count == API_KEYS_MAX)
        what = "the file has too many keys; remove unused keys";
    else if (!is_free_slot(keys->slots[slot]))
        what = "the file already has this id; each line needs its own id";
    else if (key->subject != NULL && api_keys_of_subject(keys, key->subject) != NULL)
        what = "this subject is already in the file; give each subject to one key";
    if (what != NULL) {
        (void)snprintf(ret_why, API_KEY_WHY_MAX, "%s", what);
        return FENCE_EINVAL;
    }
    assert(keys->count < API_KEYS_MAX && is_free_slot(keys->slots[slot]));
    keys->keys[keys->count++] = key;
    keys->slots[slot] = (uint16_t)keys->count;
    return 0;
}

/* A line that is not blank. */
static int add_line(struct api_keys *keys, const char *line, size_t len,
                    char ret_why[static API_KEY_WHY_MAX])
{
    struct api_key *key = NULL;
    int result = api_key_parse(line, len, ret_why, &key);
    if (result != 0)
        return result;
    result = keep_key(keys, key, ret_why);
    if (result != 0)
        api_key_unref(key);
    return result;
}

static bool has_key(const char *line, size_t len)
{
    size_t at = 0;
    while (at < len && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r'))
        at++;
    return at < len && line[at] != '#';
}

/* A line that was cut may be valid and allow more: prefix=orders/ becomes prefix=o. */
static const char half_written[] =
    "the last line has no line break, so the file may be truncated: write a complete new file, "
    "and rename it over this file";

static int add_lines(struct api_keys *keys, const char *name, const char *text, size_t size,
                     char ret_why[static API_KEYS_WHY_MAX])
{
    char why[API_KEY_WHY_MAX] = "";
    unsigned number = 0;
    int result = 0;
    const bool cut = size > 0 && text[size - 1] != '\n';
    for (size_t at = 0; at < size && result == 0;) {
        const char *line = text + at;
        const char *end = memchr(line, '\n', size - at);
        size_t len = end != NULL ? (size_t)(end - line) : size - at;
        at += len + 1;
        if (++number > API_KEYS_LINES_MAX) {
            (void)snprintf(why, sizeof(why), "a key file has at most %d lines", API_KEYS_LINES_MAX);
            result = FENCE_EINVAL;
        } else if (cut && end == NULL) {
            (void)snprintf(why, sizeof(why), "%s", half_written);
            result = FENCE_EINVAL;
        } else if (has_key(line, len)) {
            len -= line[len - 1] == '\r';
            result = add_line(keys, line, len, why);
        }
    }
    if (result == FENCE_EINVAL)
        (void)snprintf(ret_why, API_KEYS_WHY_MAX, "%s:%u: %s", name, number, why);
    return result;
}

static struct api_keys *keys_new(void)
{
    struct api_keys *keys = calloc(1, sizeof(*keys));
    if (keys == NULL)
        return NULL;
    keys->refs = 1;
    randombytes_buf(keys->seed, sizeof(keys->seed));
    return keys;
}

int api_keys_parse(const char *name, const char *text, size_t len,
                   char ret_why[static API_KEYS_WHY_MAX], struct api_keys **ret_keys)
{
    struct api_keys *keys = keys_new();
    if (keys == NULL)
        return FENCE_ENOMEM;
    int result = add_lines(keys, name, text, len, ret_why);
    if (result != 0) {
        api_keys_unref(keys);
        return result;
    }
    add_decoys(keys);
    *ret_keys = keys;
    return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int refuse_key_file(char ret_why[static API_KEYS_WHY_MAX], const char *path,
                           const char *what)
{
    (void)snprintf(ret_why, API_KEYS_WHY_MAX, "%s: %s", path, what);
    return FENCE_EINVAL;
}

static int check_file(const char *path, const struct stat *file,
                      char ret_why[static API_KEYS_WHY_MAX])
{
    if (!S_ISREG(file->st_mode))
        return refuse_key_file(ret_why, path, "is not a regular file; name a key file");
    if (file->st_uid != 0 && file->st_uid != geteuid())
        return refuse_key_file(ret_why, path,
                               "belongs to another user, who could change it; chown the file to "
                               "root or to the user of this program");
    if (file->st_mode & (S_IWGRP | S_IWOTH))
        return refuse_key_file(
            ret_why, path,
            "can be written by other users than its owner; run chmod go-w on the file");
    if (file->st_mode & S_IROTH)
        return refuse_key_file(
            ret_why, path,
            "can be read by every user; run chmod o-r on the file. If another user owns the "
            "file, set its group to the group of this program");
    if (file->st_size > API_KEYS_BYTES_MAX)
        return refuse_key_file(ret_why, path,
                               "is larger than 4 MiB, the limit of a key file; remove unused keys");
    return 0;
}

/* All of @fd, at most API_KEYS_BYTES_MAX. */
static int read_whole(int fd, char *text, size_t *ret_len)
{
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len < API_KEYS_BYTES_MAX) {
        got = read(fd, text + len, API_KEYS_BYTES_MAX - len);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            len += (size_t)got;
    }
    assert(len <= API_KEYS_BYTES_MAX);
    *ret_len = len;
    return got < 0 ? FENCE_EIO : 0;
}

static int load_open(const char *path, int fd, char ret_why[static API_KEYS_WHY_MAX],
                     struct api_keys **ret_keys)
{
    struct stat file;
    if (fstat(fd, &file) < 0)
        return FENCE_EIO;
    int result = check_file(path, &file, ret_why);
    if (result != 0)
        return result;
    char *text = malloc(API_KEYS_BYTES_MAX);
    size_t len = 0;
    if (text == NULL)
        return FENCE_ENOMEM;
    result = read_whole(fd, text, &len);
    if (result == 0)
        result = api_keys_parse(path, text, len, ret_why, ret_keys);
    free(text);
    return result;
}

int api_keys_load(const char *path, char ret_why[static API_KEYS_WHY_MAX],
                  struct api_keys **ret_keys)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int result = fd < 0 ? FENCE_EIO : load_open(path, fd, ret_why, ret_keys);
    if (result == FENCE_EIO)
        (void)snprintf(ret_why, API_KEYS_WHY_MAX, "%s: cannot be read: %s", path, strerror(errno));
    else if (result == FENCE_ENOMEM)
        (void)snprintf(ret_why, API_KEYS_WHY_MAX, "%s: out of memory", path);
    if (fd >= 0)
        (void)close(fd);
    return result;
}

/* ---- sharing --------------------------------------------------------------------------------- */

struct api_keys *api_keys_ref(struct api_keys *keys)
{
    assert(atomic_load_explicit(&keys->refs, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&keys->refs, 1, memory_order_relaxed);
    return keys;
}

void api_keys_unref(struct api_keys *keys)
{
    if (keys == NULL || atomic_fetch_sub_explicit(&keys->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (unsigned i = 0; i < keys->count; i++)
        api_key_unref(keys->keys[i]);
    free(keys);
}

void api_keys_release(const struct api_keys *keys, struct api_usage_mark mark, uint64_t seats)
{
    for (unsigned i = 0; i < keys->count; i++)
        if (keys->keys[i]->held > 0)
            api_usage_release(keys->keys[i]->usage, mark, seats);
}

void api_keys_succeed(struct api_keys *keys, const struct api_keys *before)
{
    for (unsigned i = 0; i < keys->count; i++) {
        const struct api_key *old = key_of_id(before, keys->keys[i]->id);
        if (old == NULL)
            continue;
        assert(keys->keys[i]->usage != NULL && old->usage != NULL);
        api_usage_unref(keys->keys[i]->usage);
        keys->keys[i]->usage = api_usage_ref(old->usage);
    }
}
