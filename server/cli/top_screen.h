/* The terminal as a full screen: its earlier content returns on every way that the process can end.
 *
 * Lines are not wrapped while the screen is open, so that text of a server cannot move other
 * text. */
#ifndef SERVER_CLI_TOP_SCREEN_H
#define SERVER_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CLI_TOP_ROWS_LEAST = 4,
    CLI_TOP_ROWS_MOST = 500,
    CLI_TOP_COLUMNS_LEAST = 20,
    CLI_TOP_COLUMNS_MOST = 1000,
};

enum cli_top_key {
    CLI_TOP_KEY_NONE,
    CLI_TOP_KEY_QUIT,
    CLI_TOP_KEY_UP,
    CLI_TOP_KEY_DOWN,
    CLI_TOP_KEY_PAGE_UP,
    CLI_TOP_KEY_PAGE_DOWN,
    CLI_TOP_KEY_ORDER,
    CLI_TOP_KEY_EVENTS,
    CLI_TOP_KEY_GONE, /* the terminal has gone */
};

/* Reports whether standard input and output are a terminal that can show a screen. */
bool cli_top_screen_can(void);

/* Opens the screen. A process that crashes closes it, too. Negative: errno says why. */
int cli_top_screen_open(void) __attribute__((warn_unused_result));

/* The terminal shows again what it showed before. */
void cli_top_screen_close(void);

/* How large the screen is now. */
void cli_top_screen_size(size_t *ret_rows, size_t *ret_columns);

/* The next key that was pressed; CLI_TOP_KEY_NONE: none is left that means anything. */
enum cli_top_key cli_top_screen_key(void);

#endif
