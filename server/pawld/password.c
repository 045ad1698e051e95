#include "server/pawld/password.h"

#include "server/system/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX_BYTES = STORAGE_SECRET_MAX + sizeof("\r\n"), /* with what ends it */
};

void pawld_password_hide(char *url)
{
    char *scheme = strstr(url, "://");
    char *at = strrchr(url, '@');
    char *colon = scheme ? strchr(scheme + 3, ':') : NULL;
    if (at && colon && colon < at)
        memset(colon + 1, '*', (size_t)(at - colon - 1));
}

static error_t take_line(char *line, const char *from, char password[static STORAGE_SECRET_MAX + 1])
{
    line[strcspn(line, "\r\n")] = '\0';
    size_t len = strlen(line);
    if (len == 0)
        return server_options_error("%s: the password is empty; write it there, or leave that out",
                                    from);
    if (len > STORAGE_SECRET_MAX)
        return server_options_error("%s: the password has more than %d bytes", from,
                                    STORAGE_SECRET_MAX);
    memcpy(password, line, len + 1);
    return 0;
}

static bool is_cut_line(const char *line)
{
    const size_t len = strlen(line);
    return len > 0 && len < LINE_MAX_BYTES - 1 && line[len - 1] != '\n';
}

static error_t read_file(const char *path, char password[static STORAGE_SECRET_MAX + 1])
{
    char line[LINE_MAX_BYTES] = "";
    FILE *file = fopen(path, "re");
    bool read = file && (fgets(line, sizeof(line), file) || !ferror(file));
    int why = errno;
    if (file)
        fclose(file);
    if (!read)
        return server_options_error("--master-password-file: cannot read %s: %s", path,
                                    strerror(why));
    error_t error = is_cut_line(line) ? server_options_error("--master-password-file %s: %s", path,
                                                             SERVER_HALF_WRITTEN)
                                      : take_line(line, "--master-password-file", password);
    explicit_bzero(line, sizeof(line));
    return error;
}

static error_t read_variable(char password[static STORAGE_SECRET_MAX + 1])
{
    char *value = getenv(PAWLD_PASSWORD_VARIABLE);
    if (!value)
        return 0;
    size_t len = strlen(value);
    error_t error = take_line(value, PAWLD_PASSWORD_VARIABLE, password);
    explicit_bzero(value, len);
    return error;
}

static error_t give_to(const char *option, struct storage_redis_url *url,
                       const char password[static STORAGE_SECRET_MAX + 1])
{
    if (!url->password[0])
        memcpy(url->password, password, STORAGE_SECRET_MAX + 1);
    if (url->user[0] && !url->password[0])
        return server_options_error("%s: a user without a password; give it with "
                                    "--master-password-file, or write user:password@",
                                    option);
    return 0;
}

error_t pawld_password_give(struct pawld_options *options)
{
    char password[STORAGE_SECRET_MAX + 1] = "";
    error_t error = options->password_file ? read_file(options->password_file, password)
                                           : read_variable(password);
    for (unsigned i = 0; !error && i < options->masters_count; i++)
        error = give_to("--master", &options->masters[i], password);
    for (unsigned i = 0; !error && i < options->from_count; i++)
        error = give_to("--from", &options->from[i], password);
    explicit_bzero(password, sizeof(password));
    return error;
}
