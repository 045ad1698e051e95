/* Whole files as strings, and strings that should be equal. */
#ifndef TESTS_LIB_TEXT_H
#define TESTS_LIB_TEXT_H

#include <stdio.h>
#include <sys/types.h>

/* The text that @format makes; the caller frees it. */
__attribute__((format(printf, 1, 2))) char *text_make(const char *format, ...);

/* The content of the file @path from byte @from on, terminated; "" where there is no such file. The
 * caller frees it. */
char *text_read(const char *path, off_t from);

/* Fails the test, at the line that says this, unless @came is @expected; shows both in full, where
 * cmocka's own comparison shows the first thousand bytes of the two together. */
#define EXPECT_TEXT(came, expected) text_expect_at(came, expected, __FILE__, __LINE__)
void text_expect_at(const char *came, const char *expected, const char *file, int line);

/* The certificate that it presents. */
void text_show_difference(FILE *to, const char *came, const char *expected);

#endif
