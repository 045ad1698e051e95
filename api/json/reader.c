#include "api/json/reader.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* Quoted in sentences at most: a name can be as long as the body. */
#define NAME_SHOWN "%.40s"

/* Integers stop short of this: 2^63. */
#define HUGE_NUMBER 0x1p63

/* A number beyond that, shorter than any that is too large for a double. */
#define HUGE_REAL "9e99"

static int refuse_json(char error[static API_JSON_ERROR_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse_json(char error[static API_JSON_ERROR_MAX], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error, API_JSON_ERROR_MAX, format, args);
    va_end(args);
    return FENCE_EINVAL;
}

static int read_json_integer(const struct api_json_member *member, const json_t *value, char *error)
{
    int64_t told_max = member->told_max != 0 ? member->told_max : member->max;
    if (!json_is_integer(value))
        return refuse_json(error, "%s must be an integer from %" PRId64 " to %" PRId64 ".",
                           member->name, member->min, told_max);
    int64_t number = json_integer_value(value);
    if (number < member->min || number > member->max)
        return refuse_json(error, "%s is %" PRId64 "; it must be from %" PRId64 " to %" PRId64 ".",
                           member->name, number, member->min, told_max);
    assert(member->integer != NULL);
    *member->integer = number;
    return 0;
}

static int read_string(const struct api_json_member *member, const json_t *value, char *error)
{
    if (!json_is_string(value))
        return refuse_json(error, "%s must be a string of %" PRId64 " to %" PRId64 " bytes.",
                           member->name, member->min, member->max);
    size_t len = json_string_length(value);
    if ((int64_t)len < member->min || (int64_t)len > member->max)
        return refuse_json(error, "%s has %zu bytes. It must have from %" PRId64 " to %" PRId64 ".",
                           member->name, len, member->min, member->max);
    assert(member->string != NULL && strlen(json_string_value(value)) == len);
    memcpy(member->string, json_string_value(value), len + 1);
    return 0;
}

/* The members that an array may have. */
static const char *plural_of(enum api_json_type type)
{
    if (type == API_JSON_STRINGS)
        return "strings";
    return type == API_JSON_OBJECTS ? "objects" : "integers";
}

static bool is_item(enum api_json_type type, const json_t *item)
{
    if (type == API_JSON_STRINGS)
        return json_is_string(item);
    return type == API_JSON_OBJECTS ? json_is_object(item) : json_is_integer(item);
}

static int take_item(const struct api_json_member *member, const json_t *item, char *error)
{
    if (member->type == API_JSON_STRINGS)
        return member->strings->take(member->strings, json_string_value(item),
                                     json_string_length(item), error);
    if (member->type == API_JSON_OBJECTS)
        return member->objects->take(member->objects, (const void *)item, error);
    return member->integers->take(member->integers, json_integer_value(item), error);
}

static int read_json_array(const struct api_json_member *member, const json_t *value, char *error)
{
    const char *plural = plural_of(member->type);
    const size_t count = json_array_size(value);
    if (!json_is_array(value) || (int64_t)count < member->min || (int64_t)count > member->max)
        return refuse_json(error, "%s must be an array of %" PRId64 " to %" PRId64 " %s.",
                           member->name, member->min, member->max, plural);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        if (!is_item(member->type, item))
            return refuse_json(error, "%s must contain %s only; item %zu has another type.",
                               member->name, plural, i + 1);
        const int result = take_item(member, item, error);
        if (result != 0)
            return result;
    }
    return 0;
}

static int read_json_text(const struct api_json_member *member, const json_t *value, char *error)
{
    if (!json_is_object(value))
        return refuse_json(error, "%s must be an object.", member->name);
    assert(member->text != NULL && *member->text == NULL);
    *member->text = json_dumps(value, JSON_COMPACT);
    return *member->text != NULL ? 0 : FENCE_ENOMEM;
}

static int read_member(const struct api_json_member *member, const json_t *value, char *error)
{
    switch (member->type) {
    case API_JSON_INTEGER:
        return read_json_integer(member, value, error);
    case API_JSON_STRING:
        return read_string(member, value, error);
    case API_JSON_STRINGS:
    case API_JSON_OBJECTS:
    case API_JSON_INTEGERS:
        return read_json_array(member, value, error);
    case API_JSON_TEXT:
        return read_json_text(member, value, error);
    }
    abort(); /* a member without a type */
}

static const struct api_json_member *find_member(const struct api_json_member *members,
                                                 size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

/* Walks through the client's object, so that no unknown member goes unnoticed. */
static int read_object(const json_t *object, const struct api_json_member *members, size_t count,
                       char *error)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct api_json_member *member = find_member(members, count, name);
        if (member == NULL)
            return refuse_json(error, "The body has an unknown field \"" NAME_SHOWN "\".", name);
        int result = read_member(member, value, error);
        if (result != 0)
            return result;
    }
    for (size_t i = 0; i < count; i++)
        if (members[i].required && json_object_get(object, members[i].name) == NULL)
            return refuse_json(error, "The body lacks the field %s.", members[i].name);
    return 0;
}

int api_json_read_object(const struct api_json_object *object,
                         const struct api_json_member *members, size_t count,
                         char ret_error[static API_JSON_ERROR_MAX])
{
    return read_object((const void *)object, members, count, ret_error);
}

/* Puts HUGE_REAL in place of the number that ends before byte @end of a JSON @text. */
static void replace_number(char *text, size_t end)
{
    size_t start = end;
    while (start > 0 && text[start - 1] != '\0' && strchr("+-.0123456789eE", text[start - 1]))
        start--;
    if (end - start < strlen(HUGE_REAL))
        return;
    memset(text + start, ' ', end - start);
    memcpy(text + start, HUGE_REAL, strlen(HUGE_REAL));
}

/* Reads all numbers as reals. A number beyond the range of a double stops the parser here too, so
 * the first such number is read as HUGE_REAL. NULL: there are more of them, or no memory. */
static json_t *read_as_reals(const char *text, size_t len)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL;
    json_error_t why;
    json_t *root = json_loadb(text, len, flags, &why);
    if (root != NULL || json_error_code(&why) != json_error_numeric_overflow)
        return root;
    char *copy = malloc(len);
    if (copy == NULL)
        return NULL;
    assert(why.position >= 0 && (size_t)why.position <= len);
    memcpy(copy, text, len);
    replace_number(copy, (size_t)why.position);
    root = json_loadb(copy, len, flags, NULL);
    free(copy);
    return root;
}

/* A too large number stops the parser before it reports the member. So all numbers are read as
 * reals, to name the member with such a number. */
static int refuse_huge(const char *text, size_t len, const json_error_t *why, char *error)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_t *root = read_as_reals(text, len);
    json_object_foreach(root, name, value)
    {
        if (fabs(json_number_value(value)) < HUGE_NUMBER)
            continue;
        int result = refuse_json(error, NAME_SHOWN " is a number far out of range.", name);
        json_decref(root);
        return result;
    }
    json_decref(root);
    return refuse_json(error, "A number in the body is far out of range, at byte %d.",
                       why->position);
}

/* Why the parser refused a text: in its own words, where they mean something to a client. */
static int refuse_text(const char *text, size_t len, const json_error_t *why, char *error)
{
    switch (json_error_code(why)) {
    case json_error_out_of_memory:
        return FENCE_ENOMEM;
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return refuse_json(error, "The body has a NUL in a string, at byte %d.", why->position);
    case json_error_numeric_overflow:
        return refuse_huge(text, len, why, error);
    case json_error_duplicate_key:
        return refuse_json(error, "The body has a duplicate field, at byte %d: %s.", why->position,
                           why->text);
    default:
        return refuse_json(error, "The body is not valid JSON, at byte %d: %s.", why->position,
                           why->text);
    }
}

int api_json_read(const char *text, size_t len, const struct api_json_member *members, size_t count,
                  char ret_error[static API_JSON_ERROR_MAX])
{
    if (len == 0) {
        text = "{}";
        len = 2;
    }

    json_error_t why;
    assert(count == 0 || members != NULL);
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (root == NULL)
        return refuse_text(text, len, &why, ret_error);

    int result;
    if (json_is_object(root))
        result = read_object(root, members, count, ret_error);
    else
        result = refuse_json(ret_error, "The body must be a JSON object.");
    json_decref(root);
    return result;
}
