/* One line of the log, as text: see server/system/log.h.
 *
 *     2026-11-20T12:04:05.123Z info pawld: worker 2: master 1 (redis://redis-1:6379) votes
 *
 *     {"time":"2026-11-20T12:04:05.123Z","level":"info","program":"pawld","worker":2,"master":1,
 *     "message":"master 1 (redis://redis-1:6379) votes"}
 *
 * The second one is one line, too. Its members "worker" and "master" are there where the text
 * begins with "worker 2: " or "master 1 (". */
#ifndef SERVER_SYSTEM_LOG_LINE_H
#define SERVER_SYSTEM_LOG_LINE_H

#include <stddef.h>
#include <time.h>

enum server_log_level {
    SERVER_LOG_TRACE, /* each decision of the core; see fence/state/trace.h */
    SERVER_LOG_DEBUG, /* each step of an operation, to search for a fault */
    SERVER_LOG_INFO,
    SERVER_LOG_WARNING, /* the service continues, but an operator should look */
    SERVER_LOG_ERROR,   /* an operation failed */
};

enum server_log_form {
    SERVER_LOG_PLAIN,
    SERVER_LOG_JSON, /* an object a line */
};

enum {
    SERVER_LOG_LINE_MAX = 1024, /* bytes of a line with its newline; longer ones are cut */
    SERVER_LOG_JSON_MAX = 8192, /* bytes of a line in JSON: each byte of the text can become six */
    SERVER_LOG_TIME_MAX = 40,   /* bytes of a time, terminated */
};

/* Writes the line with its newline. Text from outside can neither end the line nor move a cursor;
 * in JSON, bytes outside well-formed UTF-8 become U+FFFD. Returns the length. */
size_t server_log_line(enum server_log_form form, enum server_log_level level,
                       const struct timespec *when, const char *program, const char *text,
                       char ret_line[static SERVER_LOG_JSON_MAX]);

/* "2026-11-20T12:04:05.123Z" (RFC 3339). */
void server_log_time(const struct timespec *when, char ret_time[static SERVER_LOG_TIME_MAX]);

#endif
