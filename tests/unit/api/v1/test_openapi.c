/* The document of GET /openapi.json, held against the tables and bounds that the code serves from.
 * That answers are as it says is tests/system/openapi. */
#include "api/auth/right.h"
#include "api/http/problem.h"
#include "api/http/trace.h"
#include "api/v1/listing.h"
#include "api/v1/openapi.h"
#include "fence/fleet/fleet.h"
#include "server/loop/routes.h"
#include "tests/lib/case.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum {
    TEXT_BYTES = 256,
    REFERENCES_LEAST = 100, /* far fewer: the walk does not find them */
};

static json_t *document;
static struct api_routes tables[SERVER_ROUTES];

static int read_document(void **state)
{
    static struct api_backend none;
    size_t len = 0;
    const char *text = api_openapi_text(&len);
    json_error_t why;
    document = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (document == NULL)
        print_error("openapi.json:%d: %s\n", why.line, why.text);
    server_routes(&none, tables);
    return document != NULL ? 0 : -1;
}

static int free_document(void **state)
{
    json_decref(document);
    return 0;
}

/* The value at the JSON pointer (RFC 6901) leads to; NULL: nothing. No name on its way has a slash.
 */
static const json_t *at(const char *pointer)
{
    const json_t *value = document;
    while (*pointer == '/' && value != NULL) {
        char name[TEXT_BYTES];
        size_t len = 0;
        for (pointer++; *pointer != '\0' && *pointer != '/'; len++) {
            assert_true(len + 1 < sizeof(name));
            name[len] = *pointer++;
        }
        name[len] = '\0';
        value = json_is_array(value) ? json_array_get(value, strtoul(name, NULL, 10))
                                     : json_object_get(value, name);
    }
    return value;
}

static const char *string_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* The value, or the value to which it refers. */
static const json_t *resolved(const json_t *value)
{
    const char *reference = string_at(value, "$ref");
    return reference != NULL ? at(reference + 1) : value;
}

static void document_is_openapi_3_1(void **state)
{
    assert_int_equal(strncmp(string_at(document, "openapi"), "3.1.", 4), 0);
    assert_non_null(json_string_value(at("/info/title")));
    assert_non_null(json_string_value(at("/info/version")));
}

/* Sets a member of @ret_found for each reference below @value. */
static void find_references(const json_t *value, json_t *ret_found)
{
    const char *reference = string_at(value, "$ref");
    const char *name = NULL;
    json_t *each = NULL;
    size_t i = 0;
    if (reference != NULL)
        assert_int_equal(json_object_set_new(ret_found, reference, json_true()), 0);
    json_object_foreach((json_t *)(uintptr_t)value, name, each)
    {
        find_references(each, ret_found);
    }
    json_array_foreach(value, i, each)
    {
        find_references(each, ret_found);
    }
}

static void every_reference_leads_somewhere(void **state)
{
    json_t *found = json_object();
    const char *reference = NULL;
    json_t *unused = NULL;
    find_references(document, found);
    assert_true(json_object_size(found) > REFERENCES_LEAST);
    json_object_foreach(found, reference, unused)
    {
        if (strncmp(reference, "#/components/", 13) != 0 || at(reference + 1) == NULL)
            fail_msg("%s leads nowhere", reference);
    }
    json_decref(found);
}

static void every_component_is_used(void **state)
{
    json_t *found = json_object();
    const char *kind = NULL, *name = NULL;
    json_t *components = NULL, *unused = NULL;
    find_references(document, found);
    json_object_foreach((json_t *)(uintptr_t)at("/components"), kind, components)
    {
        json_object_foreach(components, name, unused)
        {
            char reference[TEXT_BYTES];
            (void)snprintf(reference, sizeof(reference), "#/components/%s/%s", kind, name);
            if (strcmp(kind, "securitySchemes") != 0 && !json_object_get(found, reference))
                fail_msg("nothing refers to %s", reference);
        }
    }
    json_decref(found);
}

/* A visit to each operation: its path, its method in lower case, itself. */
typedef void visit_operation(const char *path, const char *method, const json_t *operation);

static void for_each_operation(visit_operation *visit)
{
    const char *path = NULL, *method = NULL;
    json_t *item = NULL, *operation = NULL;
    json_object_foreach((json_t *)(uintptr_t)at("/paths"), path, item)
    {
        json_object_foreach(item, method, operation)
        {
            if (strcmp(method, "parameters") != 0)
                visit(path, method, operation);
        }
    }
}

/* The path of a pattern as OpenAPI writes it, which knows no parameter for the rest of a path. */
static void path_of_pattern(const char *pattern, char ret_path[static TEXT_BYTES])
{
    const char *rest = strstr(pattern, "...}");
    assert_true(strlen(pattern) < TEXT_BYTES);
    (void)snprintf(ret_path, TEXT_BYTES, "%.*s%s",
                   (int)(rest != NULL ? rest - pattern : (long)strlen(pattern)), pattern,
                   rest != NULL ? rest + 3 : "");
}

static const json_t *operation_of(const struct api_route *route)
{
    char path[TEXT_BYTES], method[16] = "";
    path_of_pattern(route->pattern, path);
    for (size_t i = 0; api_method_name(route->method)[i] != '\0'; i++)
        method[i] = (char)tolower(api_method_name(route->method)[i]);
    const json_t *operation = json_object_get(json_object_get(at("/paths"), path), method);
    if (operation == NULL)
        fail_msg("%s %s is not in the document", method, path);
    return operation;
}

static void expect_route(const char *path, const char *method, const json_t *operation)
{
    for (size_t t = 0; t < SERVER_ROUTES; t++)
        for (size_t r = 0; r < tables[t].count; r++)
            if (operation_of(&tables[t].items[r]) == operation)
                return;
    fail_msg("%s %s is no route", method, path);
}

static void operations_are_the_routes_and_no_others(void **state)
{
    for_each_operation(expect_route); /* the reverse: operation_is_what_its_route_says */
}

static json_t *ids;

static void expect_new_id(const char *path, const char *method, const json_t *operation)
{
    const char *id = string_at(operation, "operationId");
    if (id == NULL || json_object_get(ids, id) != NULL)
        fail_msg("%s %s has no operationId of its own", method, path);
    assert_int_equal(json_object_set_new(ids, id, json_true()), 0);
}

static void operation_ids_are_unique(void **state)
{
    ids = json_object();
    for_each_operation(expect_new_id);
    json_decref(ids);
}

/* Reports whether the operation has a parameter that is in "query". */
static bool takes_query(const json_t *operation)
{
    size_t i = 0;
    json_t *each = NULL;
    json_array_foreach(json_object_get(operation, "parameters"), i, each)
    {
        if (strcmp(string_at(resolved(each), "in"), "query") == 0)
            return true;
    }
    return false;
}

static void expect_role(const json_t *operation, const struct api_route *route)
{
    const json_t *security = json_object_get(operation, "security");
    const size_t ways = route->right == API_RIGHT_NONE ? 0 : 3; /* none, a key, a certificate */
    if (json_array_size(security) != ways)
        fail_msg("%s has %zu ways to be allowed", route->call, json_array_size(security));
    for (size_t i = 1; i < ways; i++) {
        const json_t *way = json_array_get(security, i);
        const json_t *roles = json_object_get(way, i == 1 ? "key" : "certificate");
        assert_string_equal(json_string_value(json_array_get(roles, 0)),
                            api_right_name(route->right));
    }
}

static void operation_is_what_its_route_says(void **state)
{
    for (size_t t = 0; t < SERVER_ROUTES; t++)
        for (size_t r = 0; r < tables[t].count; r++) {
            const struct api_route *route = &tables[t].items[r];
            const json_t *operation = operation_of(route);
            assert_string_equal(string_at(operation, "operationId"), route->call);
            if ((route->takes == API_TAKES_BODY) !=
                    (json_object_get(operation, "requestBody") != NULL) ||
                (route->takes == API_TAKES_QUERY) != takes_query(operation))
                fail_msg("%s takes something else", route->call);
            expect_role(operation, route);
        }
}

static void path_has_its_parameter(void **state)
{
    const char *path = NULL;
    json_t *item = NULL;
    json_object_foreach((json_t *)(uintptr_t)at("/paths"), path, item)
    {
        const json_t *parameter = resolved(json_array_get(json_object_get(item, "parameters"), 0));
        char name[TEXT_BYTES];
        (void)snprintf(name, sizeof(name), "{%s}", string_at(parameter, "name"));
        if ((strcmp(string_at(parameter, "in"), "path") == 0) != (strchr(path, '{') != NULL))
            fail_msg("%s has not the parameter that it names", path);
        if (strchr(path, '{') != NULL)
            assert_string_equal(strchr(path, '{'), name);
    }
}

static const struct problem_row {
    const char *name;
    unsigned status;
} problem_rows[] = {
#define PROBLEM_ROW(problem, error, status, name, title, detail) {name, status},
    API_PROBLEMS(PROBLEM_ROW)
#undef PROBLEM_ROW
};

enum {
    PROBLEM_ROWS = sizeof(problem_rows) / sizeof(problem_rows[0]),
};

/* They are of a guarded resource (server/ledger). pawld answers neither. */
static bool is_of_a_guard(const char *name)
{
    return strcmp(name, "stale-token") == 0 || strcmp(name, "version-mismatch") == 0;
}

/* The name of the problem that a schema is of; NULL: none. */
static const char *problem_of_schema(const json_t *schema)
{
    static const char prefix[] = "urn:pawl:";
    const json_t *type = json_object_get(json_object_get(schema, "properties"), "type");
    const char *text = string_at(type, "const");
    return text != NULL && strncmp(text, prefix, sizeof(prefix) - 1) == 0
               ? text + sizeof(prefix) - 1
               : NULL;
}

static long status_of_schema(const json_t *schema)
{
    const json_t *status = json_object_get(json_object_get(schema, "properties"), "status");
    return (long)json_integer_value(json_object_get(status, "const"));
}

static bool has_problem(const struct problem_row *row)
{
    const char *name = NULL;
    json_t *schema = NULL;
    json_object_foreach((json_t *)(uintptr_t)at("/components/schemas"), name, schema)
    {
        const char *problem = problem_of_schema(schema);
        if (problem != NULL && strcmp(problem, row->name) == 0)
            return status_of_schema(schema) == (long)row->status;
    }
    return false;
}

static void problems_of_the_code_are_there_with_their_status(void **state)
{
    for (size_t i = 0; i < PROBLEM_ROWS; i++)
        if (has_problem(&problem_rows[i]) == is_of_a_guard(problem_rows[i].name))
            fail_msg("%s, %u", problem_rows[i].name, problem_rows[i].status);
}

static void there_are_no_other_problems(void **state)
{
    const char *name = NULL;
    json_t *schema = NULL;
    json_object_foreach((json_t *)(uintptr_t)at("/components/schemas"), name, schema)
    {
        const char *problem = problem_of_schema(schema);
        size_t i = 0;
        while (problem != NULL && i < PROBLEM_ROWS && strcmp(problem, problem_rows[i].name) != 0)
            i++;
        if (i == PROBLEM_ROWS)
            fail_msg("%s is no problem of the code", problem);
    }
}

static void expect_status(const char *id, const char *status, const json_t *schema)
{
    size_t i = 0;
    json_t *each = NULL;
    json_array_foreach(json_object_get(schema, "anyOf"), i, each)
    {
        expect_status(id, status, each);
    }
    if (json_object_get(schema, "anyOf") == NULL &&
        status_of_schema(resolved(schema)) != strtol(status, NULL, 10))
        fail_msg("%s has %s under %s", id, string_at(schema, "$ref"), status);
}

static void look_at_statuses(const char *path, const char *method, const json_t *operation)
{
    const char *status = NULL;
    json_t *response = NULL;
    json_object_foreach(json_object_get(operation, "responses"), status, response)
    {
        const json_t *content = json_object_get(resolved(response), "content");
        const json_t *problem = json_object_get(content, "application/problem+json");
        const bool failed = status[0] == '4' || status[0] == '5';
        if (failed != (problem != NULL) && strcmp(status, "default") != 0)
            fail_msg("%s %s", string_at(operation, "operationId"), status);
        if (failed)
            expect_status(string_at(operation, "operationId"), status,
                          json_object_get(problem, "schema"));
    }
}

static void problems_stand_under_their_status(void **state)
{
    for_each_operation(look_at_statuses);
}

#define SCHEMA    "/components/schemas/"
#define PARAMETER "/components/parameters/"

static void bounds_are_those_of_the_code(void **state)
{
    static const struct {
        const char *pointer;
        int64_t value;
    } bounds[] = {
        {SCHEMA "Name/maxLength", FENCE_RESOURCE_MAX},
        {SCHEMA "LockId/minLength", FENCE_LOCK_ID_MIN},
        {SCHEMA "LockId/maxLength", FENCE_LOCK_ID_MAX},
        {SCHEMA "Token/maximum", FENCE_TOKEN_MAX},
        {SCHEMA "Value/maximum", FENCE_TOKEN_MAX},
        {SCHEMA "TtlMs/minimum", FENCE_TTL_MIN_MS},
        {SCHEMA "TtlMs/maximum", FENCE_TTL_CEILING_MS},
        {SCHEMA "TtlMs/default", FENCE_TTL_DEFAULT_MS},
        {SCHEMA "Fleet/properties/ttl_max_ms/maximum", FENCE_TTL_CEILING_MS},
        {SCHEMA "WaitMs/maximum", FENCE_WAIT_MAX_MS},
        {SCHEMA "Owner/maxLength", FENCE_LABEL_MAX},
        {SCHEMA "AcquireSeat/properties/permits/maximum", FENCE_SEATS_MAX},
        {SCHEMA "SemaphoreName/maxLength", FENCE_SEATS_NAME_MAX},
        {SCHEMA "Fleet/properties/readers/maximum", FENCE_READERS_MAX},
        {SCHEMA "ReaderSeat/maximum", FENCE_READERS_MAX - 1},
        {SCHEMA "AcquireSeveral/properties/resources/minItems", FENCE_GROUP_MIN},
        {SCHEMA "AcquireSeveral/properties/resources/maxItems", FENCE_GROUP_MAX},
        {SCHEMA "GroupGrant/properties/grants/maxItems", FENCE_GROUP_MAX},
        {SCHEMA "Count/properties/count/maximum", FENCE_COUNT_MAX},
        {SCHEMA "CounterValues/properties/count/maximum", FENCE_COUNT_MAX},
        {SCHEMA "LockPage/properties/locks/maxItems", API_LISTING_LIMIT_MAX},
        {SCHEMA "CounterPage/properties/counters/maxItems", API_LISTING_LIMIT_MAX},
        {SCHEMA "NextCursor/maxLength", API_CURSOR_MAX},
        {SCHEMA "Problem/properties/masters/maxItems", FENCE_MASTERS_MAX},
        {SCHEMA "Fleet/properties/n/maximum", FENCE_MASTERS_MAX},
        {SCHEMA "Fleet/properties/masters/maxItems", FENCE_MASTERS_MAX},
        {PARAMETER "Prefix/schema/maxLength", FENCE_RESOURCE_MAX},
        {PARAMETER "Limit/schema/maximum", API_LISTING_LIMIT_MAX},
        {PARAMETER "Limit/schema/default", API_LISTING_LIMIT_DEFAULT},
        {PARAMETER "Cursor/schema/maxLength", API_CURSOR_MAX},
        {PARAMETER "RequestId/schema/maxLength", API_REQUEST_ID_MAX},
    };
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        const json_t *bound = at(bounds[i].pointer);
        if (!json_is_integer(bound) || json_integer_value(bound) != bounds[i].value)
            fail_msg("%s is not %" PRId64, bounds[i].pointer, bounds[i].value);
    }
}

static void expect_word(const char *pointer, size_t i, const char *word)
{
    size_t k = 0;
    json_t *each = NULL;
    json_array_foreach(at(pointer), k, each)
    {
        if (strcmp(json_string_value(each), word) == 0)
            return;
    }
    fail_msg("%s lacks \"%s\", the word for %zu", pointer, word, i);
}

static void words_are_those_of_the_code(void **state)
{
    for (unsigned part = 0; part <= FENCE_PART_REFUSED; part++)
        expect_word(SCHEMA "Part/enum", part, fence_part_name((enum fence_part)part));
    assert_int_equal(json_array_size(at(SCHEMA "Part/enum")), FENCE_PART_REFUSED + 1);
    for (unsigned is = 0; is <= FENCE_MASTER_ACTIVE; is++)
        expect_word(SCHEMA "Master/properties/state/enum", is,
                    fence_master_state_name((enum fence_master_state)is));
    assert_int_equal(json_array_size(at(SCHEMA "Master/properties/state/enum")),
                     FENCE_MASTER_ACTIVE + 1);
    for (unsigned right = API_RIGHT_READ; right < API_RIGHTS; right++)
        expect_word(SCHEMA "Problem/properties/right/enum", right,
                    api_right_name((enum api_right)right));
    assert_int_equal(json_array_size(at(SCHEMA "Problem/properties/right/enum")), API_RIGHTS - 1);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(document_is_openapi_3_1),
    cmocka_unit_test(every_reference_leads_somewhere),
    cmocka_unit_test(every_component_is_used),
    cmocka_unit_test(operations_are_the_routes_and_no_others),
    cmocka_unit_test(operation_ids_are_unique),
    cmocka_unit_test(operation_is_what_its_route_says),
    cmocka_unit_test(path_has_its_parameter),
    cmocka_unit_test(problems_of_the_code_are_there_with_their_status),
    cmocka_unit_test(there_are_no_other_problems),
    cmocka_unit_test(problems_stand_under_their_status),
    cmocka_unit_test(bounds_are_those_of_the_code),
    cmocka_unit_test(words_are_those_of_the_code),
};

CASE_MAIN(cases, read_document, free_document)
