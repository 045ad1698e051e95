#include "api/v1/event.h"

#include "api/json/writer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    AT_MAX = 64, /* bytes of a time, terminated */
};

static const char *const event_names[API_EVENTS] = {
    [API_EVENT_GRANTED] = "granted",   [API_EVENT_EXTENDED] = "extended",
    [API_EVENT_RELEASED] = "released", [API_EVENT_EXPIRED] = "expired",
    [API_EVENT_LOST] = "lost",         [API_EVENT_BROKEN] = "broken",
    [API_EVENT_WAITING] = "waiting",   [API_EVENT_REFUSED] = "refused",
    [API_EVENT_MASTER] = "master",     [API_EVENT_FLEET] = "fleet",
    [API_EVENT_GAP] = "gap",
};

/* RFC 3339, in UTC with milliseconds. */
static void print_at(const struct timespec *at, char ret_at[static AT_MAX])
{
    struct tm utc;
    char second[32] = "";
    if (gmtime_r(&at->tv_sec, &utc) != NULL)
        (void)strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(ret_at, AT_MAX, "%s.%03dZ", second, (int)(at->tv_nsec / 1000000 % 1000));
}

static void write_text_member(struct api_writer *writer, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0')
        api_write_string(writer, name, text);
}

static void write_positive(struct api_writer *writer, const char *name, uint64_t number)
{
    if (number > 0)
        api_write_integer(writer, name, (int64_t)number);
}

/* Returns the position of the resource. None of its bytes is escaped. */
static size_t write_resource(struct api_writer *writer, const char *resource)
{
    if (resource == NULL)
        return 0;
    api_write_string(writer, "resource", resource);
    return writer->len - 1 - strlen(resource);
}

static size_t write_data(struct api_writer *writer, const struct api_event *event)
{
    char at[AT_MAX];
    print_at(&event->at, at);
    api_write_object(writer, NULL);
    api_write_string(writer, "at", at);
    api_write_string(writer, "server", event->server);
    const size_t name_at = write_resource(writer, event->resource);
    write_positive(writer, "token", (uint64_t)event->token);
    write_text_member(writer, "owner", event->owner);
    write_text_member(writer, "holder", event->holder);
    write_positive(writer, "validity_ms", event->validity_ms);
    write_positive(writer, "master", event->master);
    write_text_member(writer, "address", event->address);
    write_text_member(writer, "state", event->state);
    write_text_member(writer, "reason", event->reason);
    write_positive(writer, "missed", event->missed);
    api_write_end(writer);
    return name_at;
}

size_t api_event_write(const struct api_event *event, char ret_text[static API_EVENT_TEXT_MAX],
                       size_t *ret_name_at)
{
    struct api_writer writer;
    assert(event->kind < API_EVENTS && event->token >= 0);
    const int head =
        snprintf(ret_text, API_EVENT_TEXT_MAX, "event: %s\ndata: ", event_names[event->kind]);
    assert(head > 0 && head < API_EVENT_TEXT_MAX);
    api_writer_init(&writer, ret_text + head, API_EVENT_TEXT_MAX - 1 - (size_t)head);
    const size_t name_at = write_data(&writer, event);
    *ret_name_at = name_at > 0 ? (size_t)head + name_at : 0;
    const size_t len = (size_t)head + writer.len;
    ret_text[len] = '\n';
    return len + 1;
}

size_t api_event_write_id(const char *id, char ret_text[static API_EVENT_ID_MAX + 8])
{
    const int len = snprintf(ret_text, API_EVENT_ID_MAX + 8, "id: %s\n\n", id);
    assert(len > 0 && len < API_EVENT_ID_MAX + 8);
    return (size_t)len;
}
