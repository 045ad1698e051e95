/* Whole files as strings. */
#ifndef TESTS_LIB_TEXT_H
#define TESTS_LIB_TEXT_H

#include <sys/types.h>

/* What stands in the file @path from byte @from on, terminated; "" where there is no such file. The
 * caller frees it. */
char *text_read(const char *path, off_t from);

#endif
