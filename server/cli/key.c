/* `pawl key`: makes keys for callers. It calls no service: the user adds the printed line to the
 * key file of each service. */
#include "api/auth/keys.h"
#include "fence/protocol/owner.h"
#include "server/cli/common.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

enum {
    ID_MADE_LEN = 10, /* characters of a random id */
};

struct key_options {
    struct cli_globals *globals;
    const char *word;
    size_t words;
    const char *role;
    const char *prefixes[API_KEY_PREFIXES_MAX];
    size_t prefix_count;
    const char *id, *rate, *burst, *held, *subject;
    const char *file;
};

static const struct argp_option key_described[] = {
    {"role", 'r', "ROLE", 0,
     "Rights of the key: 'read' shows locks, 'lock' also acquires locks and takes values of "
     "counters, 'admin' has all rights",
     0},
    {"prefix", 'p', "PREFIX", 0,
     "Prefix of the names that the key may use, or * for all names. Can be given up to 16 "
     "times",
     0},
    {"id", 'i', "ID", 0,
     "Name of the key in the file and in logs: 4 to 16 characters, a-z, 0-9 or hyphen (default: "
     "random)",
     0},
    {"rate", 'R', "N", 0, "Maximum calls a second, at each pawld (default: no limit)", 0},
    {"burst", 'B', "N", 0, "Maximum calls at once (default: the value of --rate)", 0},
    {"held", 'H', "N", 0,
     "Maximum locks held at once (default: no limit). Each pawld counts the locks that it granted, "
     "and "
     "starts at zero after a restart",
     0},
    {"subject", 's', "NAME", 0, "Common name of the client certificates that count as this key", 0},
    {"file", 'f', "FILE", 0, "Add the line to this key file, and print only the key", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t take_key_option(struct key_options *options, int key, const char *text)
{
    const struct {
        int key;
        const char **to;
    } texts[] = {
        {'r', &options->role},  {'i', &options->id},   {'R', &options->rate},
        {'B', &options->burst}, {'H', &options->held}, {'s', &options->subject},
        {'f', &options->file},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].key != key)
            continue;
        *texts[i].to = text;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static error_t parse_key(int key, char *text, struct argp_state *state)
{
    struct key_options *options = state->input;
    assert(options->prefix_count <= API_KEY_PREFIXES_MAX);
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case 'p':
        if (options->prefix_count == API_KEY_PREFIXES_MAX)
            return server_options_error("--prefix: a key has at most %d", API_KEY_PREFIXES_MAX);
        options->prefixes[options->prefix_count++] = text;
        return 0;
    case ARGP_KEY_ARG:
        if (options->words++ > 0)
            return server_options_error("takes one word: new");
        options->word = text;
        return 0;
    default:
        return take_key_option(options, key, text);
    }
}

/* ---- the line -------------------------------------------------------------------------------- */

/* Adds a word to the line. Returns false if it does not fit, or has a blank, which would end it. */
static bool add_word(char line[static API_KEY_LINE_MAX], const char *name, const char *value)
{
    const size_t len = strlen(line);
    if (value == NULL)
        return true;
    const int added =
        snprintf(line + len, API_KEY_LINE_MAX - len, "%s%s%s", len > 0 ? " " : "", name, value);
    return strpbrk(value, " \t\r\n") == NULL && added >= 0 &&
           (size_t)added < API_KEY_LINE_MAX - len;
}

/* Writes the line, and parses it like a service: a line that a service would reject is an error
 * here. */
static int make_line(const struct key_options *options, const struct api_key_text *key,
                     char ret_line[static API_KEY_LINE_MAX])
{
    assert(options->role != NULL && options->prefix_count >= 1);
    char digest_text[API_DIGEST_TEXT + 1];
    char why[API_KEY_WHY_MAX] = "";
    struct api_digest digest;
    struct api_key *read = NULL;
    api_digest_make(key->secret, &digest);
    api_digest_write(&digest, digest_text);
    ret_line[0] = '\0';
    bool fits = add_word(ret_line, "", key->id) && add_word(ret_line, "hash=", digest_text) &&
                add_word(ret_line, "role=", options->role);
    for (size_t i = 0; i < options->prefix_count; i++)
        fits = fits && add_word(ret_line, "prefix=", options->prefixes[i]);
    fits = fits && add_word(ret_line, "rate=", options->rate) &&
           add_word(ret_line, "burst=", options->burst) &&
           add_word(ret_line, "held=", options->held);
    const size_t len = strlen(ret_line);
    if (fits && options->subject != NULL)
        fits = (size_t)snprintf(ret_line + len, API_KEY_LINE_MAX - len, " subject=%s",
                                options->subject) < API_KEY_LINE_MAX - len;
    if (!fits)
        return cli_say("only --subject may have spaces, and the line has at most %d bytes",
                       API_KEY_LINE_MAX - 1);
    if (api_key_parse(ret_line, strlen(ret_line), why, &read) != 0)
        return cli_say("%s", why[0] != '\0' ? why : "out of memory");
    api_key_unref(read);
    return CLI_EXIT_DONE;
}

/* A random id: hexadecimal digits. */
static void make_id(char ret_id[static FENCE_KEY_ID_MAX + 1])
{
    unsigned char bytes[ID_MADE_LEN / 2];
    randombytes_buf(bytes, sizeof(bytes));
    (void)sodium_bin2hex(ret_id, FENCE_KEY_ID_MAX + 1, bytes, sizeof(bytes));
}

/* ---- the file -------------------------------------------------------------------------------- */

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        const ssize_t put = write(fd, text, len);
        if (put < 0 && errno != EINTR)
            return -1;
        if (put > 0) {
            assert((size_t)put <= len);
            text += put;
            len -= (size_t)put;
        }
    }
    return 0;
}

/* Reports whether the last line of the file lacks its end: another program is writing it now. */
static bool is_cut(int fd)
{
    char last = '\n';
    const off_t size = lseek(fd, 0, SEEK_END);
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/* Copies @from (-1: a new file), and adds @line. A cut line is not completed: it would look
 * whole. */
static int fill_copy(int to, int from, const char *line)
{
    assert(to >= 0);
    char piece[4096];
    ssize_t got = 0;
    while (from >= 0 && (got = read(from, piece, sizeof(piece))) > 0)
        if (write_all(to, piece, (size_t)got) != 0)
            return -1;
    if (got == 0 && from >= 0 && is_cut(from)) {
        errno = EBUSY;
        return -1;
    }
    if (got < 0)
        return -1;
    return write_all(to, line, strlen(line)) == 0 && write_all(to, "\n", 1) == 0 ? 0 : -1;
}

/* Gives the copy the owner and the mode of the file, and syncs it to the disk. */
static int finish_copy(int to, int from)
{
    assert(to >= 0);
    struct stat like;
    if (from >= 0 && (fstat(from, &like) < 0 || fchown(to, like.st_uid, like.st_gid) < 0 ||
                      fchmod(to, like.st_mode & 0777) < 0))
        return -1;
    return fsync(to);
}

/* Reports whether the file may have one more line for @id. */
static int check_for_id(const char *path, const char *id)
{
    char why[API_KEYS_WHY_MAX] = "";
    struct api_keys *keys = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return CLI_EXIT_DONE;
    if (api_keys_load(path, why, &keys) != 0)
        return cli_say("%s", why);
    const bool has = api_keys_has(keys, id);
    api_keys_unref(keys);
    return has ? cli_say("%s already has a key with the id %s: choose another --id", path, id)
               : CLI_EXIT_DONE;
}

static int replace_file(const char *path, const char *copy, int to, const char *line)
{
    assert(to >= 0 && strcmp(path, copy) != 0);
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    bool done = from >= 0 || errno == ENOENT;
    done = done && fill_copy(to, from, line) == 0 && finish_copy(to, from) == 0 &&
           rename(copy, path) == 0;
    const int why = errno;
    if (from >= 0)
        (void)close(from);
    return done ? CLI_EXIT_DONE : cli_say("cannot add to %s: %s", path, strerror(why));
}

/* Writes the file with one more line under a second name, and renames it over the file. A service
 * that reads the file meanwhile sees the old or the new version. While the second name exists,
 * another command adds nothing. */
static int add_to_file(const char *path, const char *id, const char *line)
{
    char copy[4096];
    if (snprintf(copy, sizeof(copy), "%s.new", path) >= (int)sizeof(copy))
        return cli_say("the name of the file is too long");
    const int to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0 && errno == EEXIST)
        return cli_say("%s exists: another pawl key new is running, or was interrupted. If none is "
                       "running, remove the file",
                       copy);
    if (to < 0)
        return cli_say("cannot write %s: %s", copy, strerror(errno));
    int code = check_for_id(path, id);
    if (code == CLI_EXIT_DONE)
        code = replace_file(path, copy, to, line);
    (void)close(to);
    if (code != CLI_EXIT_DONE)
        (void)unlink(copy);
    return code;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int key_new(const struct key_options *options)
{
    assert(options->role != NULL && options->prefix_count >= 1);
    struct api_key_text key = {.id = ""};
    char line[API_KEY_LINE_MAX], text[API_KEY_TEXT_MAX];
    if (options->id != NULL && !fence_key_id_valid(options->id, strlen(options->id)))
        return cli_say("--id takes %d to %d characters of a-z 0-9 -, not '%s'", FENCE_KEY_ID_MIN,
                       FENCE_KEY_ID_MAX, options->id);
    if (options->id != NULL)
        (void)snprintf(key.id, sizeof(key.id), "%s", options->id);
    else
        make_id(key.id);
    api_secret_make(key.secret);
    int code = make_line(options, &key, line);
    if (code == CLI_EXIT_DONE && options->file != NULL)
        code = add_to_file(options->file, key.id, line);
    if (code != CLI_EXIT_DONE)
        return code;
    api_key_text_write(&key, text);
    (void)puts(text);
    if (options->file == NULL)
        (void)fprintf(stderr, "The line for the key file:\n%s\n", line);
    sodium_memzero(&key, sizeof(key));
    sodium_memzero(text, sizeof(text));
    return CLI_EXIT_DONE;
}

int cli_key(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = key_described,
        .parser = parse_key,
        .args_doc = "new",
        .doc =
            "Creates a key for callers of pawld and of the ledger.\v"
            "pawl prints the key once, to stdout, and stores it nowhere. pawl prints the line for "
            "the key file to stderr, or adds the line to --file. The line does not contain the "
            "secret. pawld reads the key file at its start and at SIGHUP.",
        .children = cli_text_children,
    };
    struct key_options options = {.globals = globals};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    if (globals->json)
        return cli_refuse_json("pawl key prints one line, the key");
    if (options.word == NULL || strcmp(options.word, "new") != 0)
        return cli_say("key takes the word 'new': see pawl key --help");
    if (options.role == NULL || options.prefix_count == 0)
        return cli_say(
            "key new needs --role read, lock or admin, and --prefix, or --prefix '*' for "
            "all names");
    if (sodium_init() < 0)
        return cli_say("the operating system returned no random numbers");
    return key_new(&options);
}
