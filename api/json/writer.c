#include "api/json/writer.h"

#include "api/json/utf8.h"
#include "fence/protocol/decimal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void put_bytes(struct api_writer *writer, const char *bytes, size_t len)
{
    assert(len <= writer->size - writer->len);
    memcpy(writer->buffer + writer->len, bytes, len);
    writer->len += len;
}

static void put_char(struct api_writer *writer, char c)
{
    put_bytes(writer, &c, 1);
}

/* Decodes a sequence of at most three bytes. */
static unsigned code_point(const char *text, size_t len)
{
    assert(len >= 1 && len <= 3);
    const unsigned char *byte = (const unsigned char *)text;
    if (len == 1)
        return byte[0];
    if (len == 2)
        return (byte[0] & 0x1fU) << 6 | (byte[1] & 0x3fU);
    return (byte[0] & 0x0fU) << 12 | (byte[1] & 0x3fU) << 6 | (byte[2] & 0x3fU);
}

/* Writes one character of a JSON string: unchanged if allowed, else escaped (RFC 8259, section 7).
 * Returns how many bytes of @text it took. */
static size_t put_escaped(struct api_writer *writer, const char *text, size_t len)
{
    assert(len > 0);
    size_t used = api_utf8_sequence(text, len);
    unsigned char c = (unsigned char)text[0];
    if (used == 0) {
        put_bytes(writer, "\xef\xbf\xbd", 3);
        return 1;
    }
    if (c == '"' || c == '\\') {
        put_char(writer, '\\');
    } else if (api_utf8_is_control(text, used)) {
        char escape[7];
        (void)snprintf(escape, sizeof(escape), "\\u%04x", code_point(text, used));
        put_bytes(writer, escape, 6);
        return used;
    }
    put_bytes(writer, text, used);
    return used;
}

/* How many bytes at the beginning of @text stand for themselves: mostly all. */
static size_t plain_run(const char *text)
{
    size_t len = 0;
    while (text[len] >= 0x20 && text[len] < 0x7f && text[len] != '"' && text[len] != '\\')
        len++;
    return len;
}

static void put_quoted(struct api_writer *writer, const char *text)
{
    put_char(writer, '"');
    for (;;) {
        size_t plain = plain_run(text);
        put_bytes(writer, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        text += put_escaped(writer, text, strlen(text));
    }
    put_char(writer, '"');
}

/* The beginning of every value: the comma, and the member's name. */
static void put_prefix(struct api_writer *writer, const char *name)
{
    if (writer->comma)
        put_char(writer, ',');
    writer->comma = true;
    if (name == NULL)
        return;
    put_quoted(writer, name);
    put_char(writer, ':');
}

static void begin_value(struct api_writer *writer, const char *name, char opener, char closer)
{
    assert(writer->depth < API_WRITER_DEPTH_MAX);
    put_prefix(writer, name);
    put_char(writer, opener);
    writer->closers[writer->depth++] = closer;
    writer->comma = false;
}

void api_writer_init(struct api_writer *writer, char *buffer, size_t size)
{
    assert(buffer != NULL && size > 0);
    memset(writer, 0, sizeof(*writer));
    writer->buffer = buffer;
    writer->size = size;
}

void api_write_object(struct api_writer *writer, const char *name)
{
    begin_value(writer, name, '{', '}');
}

void api_write_array(struct api_writer *writer, const char *name)
{
    begin_value(writer, name, '[', ']');
}

void api_write_end(struct api_writer *writer)
{
    assert(writer->depth > 0);
    put_char(writer, writer->closers[--writer->depth]);
    writer->comma = true;
}

void api_write_string(struct api_writer *writer, const char *name, const char *text)
{
    if (text == NULL) {
        api_write_null(writer, name);
        return;
    }
    put_prefix(writer, name);
    put_quoted(writer, text);
}

size_t api_digits(int64_t value, char ret_digits[static API_DIGITS_MAX])
{
    size_t len = 0;
    if (value < 0)
        ret_digits[len++] = '-';
    len += fence_decimal(value < 0 ? -(uint64_t)value : (uint64_t)value, ret_digits + len);
    assert(len < API_DIGITS_MAX);
    ret_digits[len] = '\0';
    return len;
}

void api_write_integer(struct api_writer *writer, const char *name, int64_t value)
{
    char digits[API_DIGITS_MAX];
    size_t len = api_digits(value, digits);
    put_prefix(writer, name);
    put_bytes(writer, digits, len);
}

void api_write_bool(struct api_writer *writer, const char *name, bool value)
{
    put_prefix(writer, name);
    put_bytes(writer, value ? "true" : "false", value ? 4 : 5);
}

void api_write_null(struct api_writer *writer, const char *name)
{
    put_prefix(writer, name);
    put_bytes(writer, "null", 4);
}
