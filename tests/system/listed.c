#include "tests/system/listed.h"

#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 6,
    PAUSE_MS = 100,
    QUERY_MAX = 1024,
    PAGES_MAX = 5000, /* that a listing ends at all */
};

struct name {
    char text[FENCE_RESOURCE_MAX + 1];
    int64_t number;
};

/* The lists: the path, the member that has the page, and what each in it is called. */
struct kind {
    const char *path;
    const char *member;
    const char *name;
    const char *number;
};

static const struct kind locks_kind = {"/v1/locks", "locks", "resource", "token"};
static const struct kind counters_kind = {"/v1/counters", "counters", "name", "value"};

static struct name *names;
static size_t count;
static unsigned pages;

void listed_put(unsigned masters, const char *prefix, unsigned locks, const char *id)
{
    static const char script[] =
        "for i = 1, ARGV[2] do redis.call('SET', 'pawl:lock:' .. ARGV[1] .. i, ARGV[3] .. "
        "'.0000000000000001:34:0::w', 'PX', 60000) end";
    for (unsigned i = 0; i < fleet->n; i++)
        if (masters >> i & 1)
            freeReplyObject(
                redis_fleet_command(fleet, i, "EVAL %s 0 %s %u %s", script, prefix, locks, id));
}

void listed_remove(void)
{
    static const char script[] =
        "for _, key in ipairs(redis.call('KEYS', 'pawl:lock:*')) do redis.call('DEL', key) end";
    for (unsigned i = 0; i < fleet->n; i++)
        if (fleet->master[i].process)
            freeReplyObject(redis_fleet_command(fleet, i, "EVAL %s 0", script));
}

static const struct http_response *get_page(const struct kind *kind, uint16_t port,
                                            const char *query)
{
    char path[QUERY_MAX + 16];
    assert_true(strlen(query) < QUERY_MAX);
    snprintf(path, sizeof(path), "%s%s", kind->path, query);
    const struct http_response *response = call(port, "GET", path, NULL, NULL);
    for (int i = 1; i < TRIES && (response->status == 503 || response->status == 429); i++) {
        wait_ms(PAUSE_MS);
        response = call(port, "GET", path, NULL, NULL);
    }
    return response;
}

const struct http_response *listed_page(uint16_t port, const char *query)
{
    return get_page(&locks_kind, port, query);
}

/* Takes the names of a page; returns its cursor, NULL for the last. */
static const char *take_page(const struct kind *kind, const struct http_response *response,
                             unsigned limit)
{
    EXPECT_JSON(response, 200, 2);
    const json_t *listed = json_object_get(response->json, kind->member);
    assert_true(json_is_array(listed));
    assert_in_range(json_array_size(listed), 0, limit > 0 ? limit : 100);
    void *more = realloc(names, (count + json_array_size(listed) + 1) * sizeof(names[0]));
    assert_non_null(more);
    names = more;
    size_t i = 0;
    json_t *one = NULL;
    json_array_foreach(listed, i, one)
    {
        struct name *name = &names[count++];
        snprintf(name->text, sizeof(name->text), "%s",
                 json_string_value(json_object_get(one, kind->name)));
        name->number = json_integer_value(json_object_get(one, kind->number));
    }
    return json_string_value(json_object_get(response->json, "next_cursor"));
}

static void change_nothing(void)
{
}

size_t listed_read(const uint16_t ports[], const char *prefix, unsigned limit)
{
    return listed_read_while(ports, prefix, limit, change_nothing);
}

static size_t read_all(const struct kind *kind, const uint16_t ports[], const char *prefix,
                       unsigned limit, void (*change)(void))
{
    char query[QUERY_MAX];
    size_t at = 0;
    count = 0;
    pages = 0;
    int first = snprintf(query, sizeof(query), "?prefix=%s", prefix);
    if (limit > 0)
        first += snprintf(query + first, sizeof(query) - (size_t)first, "&limit=%u", limit);
    for (bool more = true; more; pages++) {
        assert_true(pages < PAGES_MAX);
        const char *cursor = take_page(kind, get_page(kind, ports[at], query), limit);
        more = cursor != NULL;
        if (more)
            snprintf(query + first, sizeof(query) - (size_t)first, "&cursor=%s", cursor);
        if (pages == 0)
            change();
        at = ports[at + 1] != 0 ? at + 1 : 0;
    }
    return count;
}

size_t listed_read_while(const uint16_t ports[], const char *prefix, unsigned limit,
                         void (*change)(void))
{
    return read_all(&locks_kind, ports, prefix, limit, change);
}

size_t listed_read_counters(const uint16_t ports[], const char *prefix, unsigned limit)
{
    return read_all(&counters_kind, ports, prefix, limit, change_nothing);
}

int64_t listed_number(const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].text, name) == 0)
            return names[i].number;
    return 0;
}

size_t listed_times(const char *resource)
{
    size_t times = 0;
    for (size_t i = 0; i < count; i++)
        times += strcmp(names[i].text, resource) == 0;
    return times;
}

unsigned listed_pages(void)
{
    return pages;
}
