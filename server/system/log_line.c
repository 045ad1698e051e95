#include "server/system/log_line.h"

#include "api/json/writer.h"
#include "server/system/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {
    [SERVER_LOG_TRACE] = "trace",     [SERVER_LOG_DEBUG] = "debug", [SERVER_LOG_INFO] = "info",
    [SERVER_LOG_WARNING] = "warning", [SERVER_LOG_ERROR] = "error",
};

void server_log_time(const struct timespec *when, char ret_time[static SERVER_LOG_TIME_MAX])
{
    struct tm utc;
    char second[32] = "";
    if (gmtime_r(&when->tv_sec, &utc))
        (void)strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(ret_time, SERVER_LOG_TIME_MAX, "%s.%03dZ", second,
                   (int)(when->tv_nsec / 1000000 % 1000));
}

static size_t plain_line(enum server_log_level level, const char *time, const char *program,
                         const char *text, char *line)
{
    const int head =
        snprintf(line, SERVER_LOG_LINE_MAX, "%s %s %.64s: ", time, level_names[level], program);
    size_t len = head > 0 ? (size_t)head : 0;
    len += server_printable(text, line + len, SERVER_LOG_LINE_MAX - len);
    line[len] = '\n'; /* over the terminator: the line is written by its length */
    return len + 1;
}

/* Returns the number behind @word at the beginning of @text, if @end follows; 0: there is none. */
static long leading_number(const char *text, const char *word, const char *end,
                           const char **ret_rest)
{
    const size_t len = strlen(word);
    char *digits_end = NULL;
    if (strncmp(text, word, len) != 0 || text[len] < '1' || text[len] > '9')
        return 0;
    const long number = strtol(text + len, &digits_end, 10);
    if (strncmp(digits_end, end, strlen(end)) != 0)
        return 0;
    *ret_rest = digits_end + strlen(end);
    return number;
}

static size_t json_line(enum server_log_level level, const char *time, const char *program,
                        const char *text, char *line)
{
    char shown[SERVER_LOG_LINE_MAX];
    const char *rest = NULL;
    struct api_writer writer;
    (void)snprintf(shown, sizeof(shown), "%.*s", (int)sizeof(shown) - 1, text);
    text = shown;
    api_writer_init(&writer, line, SERVER_LOG_JSON_MAX);
    api_write_object(&writer, NULL);
    api_write_string(&writer, "time", time);
    api_write_string(&writer, "level", level_names[level]);
    api_write_string(&writer, "program", program);
    const long worker = leading_number(text, "worker ", ": ", &rest);
    if (worker > 0) {
        api_write_integer(&writer, "worker", worker);
        text = rest;
    }
    const long master = leading_number(text, "master ", " (", &rest);
    if (master > 0)
        api_write_integer(&writer, "master", master);
    api_write_string(&writer, "message", text);
    api_write_end(&writer);
    line[writer.len] = '\n';
    return writer.len + 1;
}

size_t server_log_line(enum server_log_form form, enum server_log_level level,
                       const struct timespec *when, const char *program, const char *text,
                       char ret_line[static SERVER_LOG_JSON_MAX])
{
    char time[SERVER_LOG_TIME_MAX];
    char name[65];
    server_log_time(when, time);
    (void)snprintf(name, sizeof(name), "%.64s", program);
    return form == SERVER_LOG_JSON ? json_line(level, time, name, text, ret_line)
                                   : plain_line(level, time, name, text, ret_line);
}
