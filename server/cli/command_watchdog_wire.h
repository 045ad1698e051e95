/* The messages between `pawl lock` and its watchdog, over a socket that keeps records apart. */
#ifndef SERVER_CLI_COMMAND_WATCHDOG_WIRE_H
#define SERVER_CLI_COMMAND_WATCHDOG_WIRE_H

#include <stdint.h>

enum cli_order_kind {
    CLI_ORDER_DEADLINE, /* value: milliseconds of the boot clock */
    CLI_ORDER_SIGNAL,   /* value: its number */
    CLI_ORDER_END,
};

struct cli_order {
    enum cli_order_kind kind;
    int64_t value;
};

enum cli_event_kind {
    CLI_STARTED,   /* value: the command's process id */
    CLI_NOT_FOUND, /* value: errno of execvp(3); ENOENT, EACCES, ... */
    CLI_STOPPED,   /* stopped by a signal, the value: job control */
    CLI_ENDED,     /* value: its wait status; all that came from it has ended too */
    CLI_EXPIRED,   /* as CLI_ENDED, and the watchdog ended it since the deadline came near */
    CLI_GONE,      /* the watchdog itself was killed */
};

struct cli_event {
    enum cli_event_kind kind;
    int value;
};

#endif
