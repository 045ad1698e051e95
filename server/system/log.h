/* The messages of the programs to their operator: lines on stderr, plain or in JSON.
 *
 *     2026-11-20T12:04:05.123Z info pawl-ledger: listening on 127.0.0.1:7381 */
#ifndef SERVER_SYSTEM_LOG_H
#define SERVER_SYSTEM_LOG_H

#include "server/system/log_line.h"

enum {
    SERVER_LOG_FEW = 5,      /* lines of a kind in a second */
    SERVER_LOG_KINDS = 1024, /* kinds that are counted at a time */
};

/* Sets the form of the lines, and the lowest level that is written. The default is plain, from
 * SERVER_LOG_INFO on. Call it before other threads run. */
void server_log_configure(enum server_log_form form, enum server_log_level least);

/* Writes one line: lines of several threads do not mix. If stderr is blocked, because the reader of
 * a pipe has stopped, the line is lost. The next written line reports the number of lost lines.
 * Text from outside must neither forge lines nor move a terminal's cursor: see
 * server/system/printable.h. Any thread. */
void server_log(enum server_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes a line that clients or masters can cause as often as they like. Writes SERVER_LOG_FEW
 * lines of a kind in a second, and then one line with the number of the others. A kind is a @format
 * (a string literal) with a @key of the caller's choice. */
void server_log_few(enum server_log_level level, unsigned key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the number of suppressed lines of kinds whose second is over. Call it now and then: it
 * costs nothing if there is nothing to write. Any thread. */
void server_log_flush(void);

#endif
