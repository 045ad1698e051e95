#include "tests/lib/text.h"

#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text_make(const char *format, ...)
{
    char *text = NULL;
    va_list values;
    va_start(values, format);
    const int len = vasprintf(&text, format, values);
    va_end(values);
    assert_true(len >= 0);
    return text;
}

char *text_read(const char *path, off_t from)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    FILE *in = fopen(path, "re");
    if (in && fseeko(in, from, SEEK_SET) == 0) {
        char chunk[4096];
        for (size_t n; (n = fread(chunk, 1, sizeof(chunk), in)) > 0;)
            fwrite(chunk, 1, n, out);
    }
    if (in)
        fclose(in);
    fclose(out);
    return text;
}

void text_show_difference(FILE *to, const char *came, const char *expected)
{
    size_t at = 0;
    while (came[at] != '\0' && came[at] == expected[at])
        at++;
    fprintf(to, "they differ from byte %zu on; expected:\n%s\ncame:\n%s\n", at, expected, came);
}

void text_expect_at(const char *came, const char *expected, const char *file, int line)
{
    if (strcmp(came, expected) == 0)
        return;
    text_show_difference(stderr, came, expected);
    _fail(file, line);
}
