/* A table for people: columns as wide as their widest cell. Machines get JSON instead. */
#ifndef SERVER_CLI_TABLE_H
#define SERVER_CLI_TABLE_H

#include <stddef.h>

enum {
    CLI_TABLE_COLUMNS_MAX = 6,
    CLI_TABLE_ROWS_MAX = 1001, /* a page of a listing, and the heading */
    CLI_CELL_MAX = 384,        /* bytes, terminated; longer ones are cut */
};

struct cli_table;

/* NULL: memory is short, and that was printed. */
struct cli_table *cli_table_new(size_t columns);
void cli_table_free(struct cli_table *table);

/* Appends a row. @cells has one text for each column; NULL is an empty one. Copied. */
void cli_table_row(struct cli_table *table, const char *const *cells);

/* Prints the rows to standard output, and removes them. Widths only grow from one call to the next.
 */
void cli_table_print(struct cli_table *table);

/* The same, with @end behind each row. */
void cli_table_print_with(struct cli_table *table, const char *end);

/* The text of a time: "850 ms", "29.7 s", "12 min", "3 h" or "2 d". Written to @ret_text. */
void cli_time_text(long long ms, char *ret_text, size_t size);

#endif
