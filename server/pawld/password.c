#include "server/pawld/password.h"

#include "server/system/log.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = STORAGE_SECRET_MAX + sizeof("\r\n"), /* with the end of the line */
    WHY_MAX = 256,                                        /* bytes of a sentence */
};

void pawld_password_hide(char *url)
{
    char *scheme = strstr(url, "://");
    char *at = strrchr(url, '@');
    char *colon = scheme ? strchr(scheme + 3, ':') : NULL;
    if (at && colon && colon < at)
        memset(colon + 1, '*', (size_t)(at - colon - 1));
}

/* Takes the password from @line, without the end of the line. Returns false, and why, if there is
 * none. */
static bool take_line(char *line, char password[static STORAGE_SECRET_MAX + 1],
                      char why[static WHY_MAX])
{
    line[strcspn(line, "\r\n")] = '\0';
    size_t len = strlen(line);
    if (len == 0)
        (void)snprintf(why, WHY_MAX,
                       "the password is empty; set a password, or remove the setting");
    else if (len > STORAGE_SECRET_MAX)
        (void)snprintf(why, WHY_MAX, "the password has more than %d bytes", STORAGE_SECRET_MAX);
    else
        memcpy(password, line, len + 1);
    return len > 0 && len <= STORAGE_SECRET_MAX;
}

static bool is_cut_line(const char *line)
{
    const size_t len = strlen(line);
    return len > 0 && len < LINE_MAX_BYTES - 1 && line[len - 1] != '\n';
}

/* Reads the password from the first line of the file @path. @flags is 0 or O_NONBLOCK: then a FIFO
 * without a writer does not block. */
static bool read_file(const char *path, int flags, char password[static STORAGE_SECRET_MAX + 1],
                      char why[static WHY_MAX])
{
    char line[LINE_MAX_BYTES] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    bool read = file && (fgets(line, sizeof(line), file) || !ferror(file));
    if (!read)
        (void)snprintf(why, WHY_MAX, "cannot read it: %s", strerror(errno));
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    if (read && is_cut_line(line))
        (void)snprintf(why, WHY_MAX, "%s", SERVER_HALF_WRITTEN);
    const bool taken = read && !is_cut_line(line) && take_line(line, password, why);
    explicit_bzero(line, sizeof(line));
    return taken;
}

static error_t password_of_file(const char *path, char password[static STORAGE_SECRET_MAX + 1])
{
    char why[WHY_MAX];
    if (read_file(path, 0, password, why))
        return 0;
    return server_options_error("--master-password-file %s: %s", path, why);
}

static error_t password_of_variable(char password[static STORAGE_SECRET_MAX + 1])
{
    char why[WHY_MAX];
    char *value = getenv(PAWLD_PASSWORD_VARIABLE);
    if (!value)
        return 0;
    size_t len = strlen(value);
    const bool taken = take_line(value, password, why);
    explicit_bzero(value, len);
    return taken ? 0 : server_options_error("%s: %s", PAWLD_PASSWORD_VARIABLE, why);
}

static error_t give_to(const char *option, struct storage_redis_url *url,
                       const char password[static STORAGE_SECRET_MAX + 1], bool may_change)
{
    if (!url->password[0]) {
        memcpy(url->password, password, STORAGE_SECRET_MAX + 1);
        url->password_may_change = may_change;
    }
    if (url->user[0] && !url->password[0])
        return server_options_error("%s: the user has no password; write user:password@, or give "
                                    "the password with --master-password-file",
                                    option);
    return 0;
}

error_t pawld_password_give(struct pawld_options *options)
{
    assert(options->masters_count <= FENCE_MASTERS_MAX && options->from_count <= FENCE_MASTERS_MAX);
    char password[STORAGE_SECRET_MAX + 1] = "";
    const bool of_file = options->password_file != NULL;
    error_t error = of_file ? password_of_file(options->password_file, password)
                            : password_of_variable(password);
    for (unsigned i = 0; !error && i < options->masters_count; i++)
        error = give_to("--master", &options->masters[i], password, of_file);
    for (unsigned i = 0; !error && i < options->from_count; i++)
        error = give_to("--from", &options->from[i], password, of_file);
    explicit_bzero(password, sizeof(password));
    return error;
}

/* ---- while pawld serves ---------------------------------------------------------------------- */

void pawld_password_init(struct pawld_password *password)
{
    int failed = pthread_mutex_init(&password->mutex, NULL);
    assert(!failed); /* without attributes it only fills in memory */
    password->text[0] = '\0';
}

void pawld_password_fini(struct pawld_password *password)
{
    explicit_bzero(password->text, sizeof(password->text));
    (void)pthread_mutex_destroy(&password->mutex);
}

static void copy_text(struct pawld_password *password, char *to, const char *from)
{
    int failed = pthread_mutex_lock(&password->mutex);
    assert(!failed);
    memcpy(to, from, STORAGE_SECRET_MAX + 1);
    (void)pthread_mutex_unlock(&password->mutex);
}

bool pawld_password_reload(struct pawld_password *password, const char *path)
{
    char text[STORAGE_SECRET_MAX + 1] = "";
    char why[WHY_MAX];
    const bool taken = read_file(path, O_NONBLOCK, text, why);
    if (taken)
        copy_text(password, password->text, text);
    else
        server_log(SERVER_LOG_ERROR, "the password of the masters was not reloaded: %s: %s", path,
                   why);
    explicit_bzero(text, sizeof(text));
    return taken;
}

void pawld_password_copy(struct pawld_password *password,
                         char ret_text[static STORAGE_SECRET_MAX + 1])
{
    copy_text(password, ret_text, password->text);
}
