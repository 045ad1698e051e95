#include "server/cli/table.h"

#include "server/cli/common.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    GAP = 2, /* between two columns */
};

struct cli_table {
    size_t columns;
    size_t rows;
    size_t width[CLI_TABLE_COLUMNS_MAX]; /* in characters */
    char cell[CLI_TABLE_ROWS_MAX][CLI_TABLE_COLUMNS_MAX][CLI_CELL_MAX];
};

struct cli_table *cli_table_new(size_t columns)
{
    assert(columns >= 1 && columns <= CLI_TABLE_COLUMNS_MAX);
    struct cli_table *table = calloc(1, sizeof(*table));
    if (table == NULL)
        (void)cli_say("out of memory");
    else
        table->columns = columns;
    return table;
}

void cli_table_free(struct cli_table *table)
{
    free(table);
}

/* Characters of UTF-8: all bytes but continuation bytes. */
static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0U) != 0x80U;
    return count;
}

void cli_table_row(struct cli_table *table, const char *const *cells)
{
    assert(table->rows < CLI_TABLE_ROWS_MAX);
    assert(table->columns >= 1 && table->columns <= CLI_TABLE_COLUMNS_MAX);
    for (size_t i = 0; i < table->columns; i++) {
        char *cell = table->cell[table->rows][i];
        (void)snprintf(cell, CLI_CELL_MAX, "%s", cells[i] != NULL ? cells[i] : "");
        if (characters(cell) > table->width[i])
            table->width[i] = characters(cell);
    }
    table->rows++;
}

void cli_table_print(struct cli_table *table)
{
    cli_table_print_with(table, "\n");
}

void cli_table_print_with(struct cli_table *table, const char *end)
{
    assert(table->rows <= CLI_TABLE_ROWS_MAX);
    for (size_t row = 0; row < table->rows; row++) {
        size_t missing = 0; /* blanks that are due before the next text */
        for (size_t i = 0; i < table->columns; i++) {
            const char *cell = table->cell[row][i];
            assert(characters(cell) <= table->width[i]);
            if (cell[0] != '\0') {
                (void)printf("%*s%s", (int)missing, "", cell);
                missing = 0;
            }
            missing += table->width[i] - characters(cell) + GAP;
        }
        (void)fputs(end, stdout);
    }
    table->rows = 0;
}

void cli_time_text(long long ms, char *ret_text, size_t size)
{
    assert(size > 0);
    if (ms < 1000)
        (void)snprintf(ret_text, size, "%lld ms", ms);
    else if (ms < 120LL * 1000)
        (void)snprintf(ret_text, size, "%lld.%lld s", ms / 1000, ms % 1000 / 100);
    else if (ms < 120LL * 60 * 1000)
        (void)snprintf(ret_text, size, "%lld min", ms / 60000);
    else if (ms < 48LL * 3600 * 1000)
        (void)snprintf(ret_text, size, "%lld h", ms / 3600000);
    else
        (void)snprintf(ret_text, size, "%lld d", ms / 86400000);
}
