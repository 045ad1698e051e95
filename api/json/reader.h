/* Strict reading of a request body: one JSON object whose members are all described.
 *
 * Refuses anything but an object, bad JSON, bad UTF-8 and NUL. Also refuses duplicate or unknown
 * members, wrong types, and numbers and lengths out of bounds. A boolean or a real is no integer.
 * The sentence names the member and the bound. The parser bounds the nesting (jansson: 2048
 * levels). */
#ifndef API_JSON_READER_H
#define API_JSON_READER_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    API_JSON_ERROR_MAX = 256, /* bytes of a sentence, terminated */
};

enum api_json_type {
    API_JSON_INTEGER,
    API_JSON_STRING,
    API_JSON_STRINGS,  /* an array of them */
    API_JSON_OBJECTS,  /* an array of objects */
    API_JSON_INTEGERS, /* an array of integers */
    API_JSON_TEXT,     /* an object, which other code reads */
};

/* A member that the object may have. If it is absent, its target stays unchanged: set the default
 * before. */
struct api_json_member {
    const char *name;
    enum api_json_type type;
    bool required;
    int64_t min; /* least and greatest value of an integer, or number of bytes of a string, or of
                  * items in an array */
    int64_t max;
    int64_t told_max; /* for an integer: the greatest value that a refusal names, if the caller
                       * itself refuses values above it; 0: @max */
    int64_t *integer; /* targets: the one that @type names; */
    char *string;     /* a string needs max + 1 bytes */
    struct api_json_strings *strings;
    struct api_json_objects *objects;
    struct api_json_integers *integers;
    char **text; /* set to the object's text, which the caller frees */
};

/* Takes the strings of an array one by one, in their order. */
struct api_json_strings {
    /* FENCE_EINVAL: refused, with the reason in @ret_error. */
    int (*take)(struct api_json_strings *strings, const char *text, size_t len,
                char ret_error[static API_JSON_ERROR_MAX]);
};

/* Takes the objects of an array one by one, in their order. */
struct api_json_object;
struct api_json_objects {
    /* FENCE_EINVAL: refused, with the reason in @ret_error. FENCE_ENOMEM. */
    int (*take)(struct api_json_objects *objects, const struct api_json_object *object,
                char ret_error[static API_JSON_ERROR_MAX]);
};

/* Takes the integers of an array one by one, in their order. */
struct api_json_integers {
    /* FENCE_EINVAL: refused, with the reason in @ret_error. */
    int (*take)(struct api_json_integers *integers, int64_t number,
                char ret_error[static API_JSON_ERROR_MAX]);
};

/* Reads one of the objects. The same errors as api_json_read(). */
FENCE_CHECKED int api_json_read_object(const struct api_json_object *object,
                                       const struct api_json_member *members, size_t count,
                                       char ret_error[static API_JSON_ERROR_MAX]);

/* Reads @len bytes of @text; an empty body reads as {}. FENCE_EINVAL: refused, with the reason in
 * @ret_error; targets may have been written nevertheless. FENCE_ENOMEM. */
FENCE_CHECKED int api_json_read(const char *text, size_t len, const struct api_json_member *members,
                                size_t count, char ret_error[static API_JSON_ERROR_MAX]);

#endif
