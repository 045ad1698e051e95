/* A small JSON writer into the caller's buffer: no allocation, for answers whose size is bounded by
 * what they are made of. A buffer that turns out too small is a programmer's error (it asserts).
 *
 *     api_writer_init(&writer, buffer, sizeof(buffer));
 *     api_write_object(&writer, NULL);
 *     api_write_string(&writer, "resource", "orders/42");
 *     api_write_end(&writer);
 *
 * @name is NULL for the top level and for the items of an array. */
#ifndef API_JSON_WRITER_H
#define API_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    API_WRITER_DEPTH_MAX = 8,
    API_DIGITS_MAX = 24, /* for any 64-bit integer, with its sign, terminated */
};

struct api_writer {
    char *buffer;
    size_t size;
    size_t len; /* bytes written; the text is not terminated */
    unsigned depth;
    bool comma;                         /* something stands before the next value */
    char closers[API_WRITER_DEPTH_MAX]; /* the ends of open objects and arrays */
};

void api_writer_init(struct api_writer *writer, char *buffer, size_t size);

void api_write_object(struct api_writer *writer, const char *name);
void api_write_array(struct api_writer *writer, const char *name);

/* Ends the innermost open object or array. */
void api_write_end(struct api_writer *writer);

/* @text is escaped; bytes that are not UTF-8 become U+FFFD. NULL writes null. */
void api_write_string(struct api_writer *writer, const char *name, const char *text);
void api_write_integer(struct api_writer *writer, const char *name, int64_t value);
void api_write_bool(struct api_writer *writer, const char *name, bool value);
void api_write_null(struct api_writer *writer, const char *name);

/* @value in decimal, terminated. Returns its length. */
size_t api_digits(int64_t value, char ret_digits[static API_DIGITS_MAX]);

#endif
