/* What the programs tell their operator: lines on stderr.
 *
 *     2026-11-20T12:04:05.123Z info pawl-ledger: listening on 127.0.0.1:7381 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

enum server_log_level {
    SERVER_LOG_INFO,
    SERVER_LOG_WARNING, /* it goes on, but somebody should look */
    SERVER_LOG_ERROR,   /* something was not done that should have been */
};

enum {
    SERVER_LOG_LINE_MAX = 1024, /* bytes of a line with its newline; longer ones are cut */
};

/* Writes one line, in one write: lines of several threads do not mix. Control characters in it
 * become
 * '?', as text that came from outside must not forge lines. Any thread. */
void server_log(enum server_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
