/* A stream of events: its lines (HTML standard, section 9.2.6), as a pawld writes them. */
#include "api/client/client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX_BYTES = 16384, /* terminated; a pawld writes below 4 KiB */
    NAME_MAX_BYTES = 32,    /* name of an event, terminated */
    ID_MAX_BYTES = 64,      /* the same */
};

struct stream {
    void (*happened)(void *user, const struct pawl_event *event);
    void *user;
    bool begun;                /* the answer is a stream */
    bool wrong;                /* it is none of a pawld, or memory is short */
    char name[NAME_MAX_BYTES]; /* name of the current event; "": not read yet */
    char id[ID_MAX_BYTES];     /* the same */
    char *json;                /* the same; NULL: not told yet */
    size_t len;                /* of @line */
    char line[LINE_MAX_BYTES];
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* The value of the field @name in a line; NULL: it is another field. */
static const char *value_of_field(const char *line, const char *name)
{
    const size_t len = strlen(name);
    if (strncmp(line, name, len) != 0 || line[len] != ':')
        return NULL;
    return line[len + 1] == ' ' ? line + len + 2 : line + len + 1;
}

static void take_plain_word(struct stream *stream, const char *word, char *ret_word, size_t size)
{
    stream->wrong |= strlen(word) >= size || !client_is_plain(word, strlen(word));
    (void)snprintf(ret_word, size, "%s", word);
}

/* Members whose strings are fit for a terminal. */
static void take_members(struct stream *stream, const char *text)
{
    json_t *json = client_parse(text, strlen(text));
    free(stream->json);
    stream->json = json_is_object(json) ? json_dumps(json, JSON_COMPACT) : NULL;
    stream->wrong |= stream->json == NULL;
    json_decref(json);
}

/* An empty line ends an event. One without members is a heartbeat. */
static void end_event(struct stream *stream)
{
    if (stream->json != NULL)
        stream->happened(
            stream->user,
            &(struct pawl_event){.name = stream->name, .id = stream->id, .json = stream->json});
    free(stream->json);
    stream->json = NULL;
    stream->name[0] = stream->id[0] = '\0';
}

static void take_field(struct stream *stream)
{
    const char *value;
    stream->line[stream->len] = '\0';
    stream->len = 0;
    if (stream->line[0] == '\0')
        end_event(stream);
    else if ((value = value_of_field(stream->line, "event")) != NULL)
        take_plain_word(stream, value, stream->name, sizeof(stream->name));
    else if ((value = value_of_field(stream->line, "id")) != NULL)
        take_plain_word(stream, value, stream->id, sizeof(stream->id));
    else if ((value = value_of_field(stream->line, "data")) != NULL)
        take_members(stream, value);
}

static bool take_bytes(void *user, const char *bytes, size_t len)
{
    struct stream *stream = user;
    for (size_t i = 0; i < len && !stream->wrong; i++) {
        assert(stream->len < LINE_MAX_BYTES);
        if (bytes[i] == '\n')
            take_field(stream);
        else if (stream->len + 1 < LINE_MAX_BYTES)
            stream->line[stream->len++] = bytes[i];
        else
            stream->wrong = true;
    }
    return !stream->wrong;
}

static void begin_stream(void *user)
{
    struct stream *stream = user;
    stream->begun = true;
    stream->happened(stream->user, NULL);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* PAWL_EINVAL: @after is no id, or @prefix is too long. */
static int stream_path(pawl_client *client, const char *prefix, const char *after,
                       char ret_path[static CLIENT_PATH_MAX])
{
    static const char of_ids[] = "0123456789abcdef-";
    const size_t len = strnlen(after, ID_MAX_BYTES);
    char path[128];
    if (len >= ID_MAX_BYTES || strspn(after, of_ids) < len) {
        client_say(client,
                   "the given event id is not valid: pass the id of the last event, or none");
        return PAWL_EINVAL;
    }
    (void)snprintf(path, sizeof(path), "/v1/events%s%s%s", len > 0 ? "?after=" : "", after,
                   prefix[0] == '\0' ? ""
                   : len > 0         ? "&prefix="
                                     : "?prefix=");
    if (prefix[0] != '\0')
        return client_path(client, path, prefix, ret_path);
    (void)snprintf(ret_path, CLIENT_PATH_MAX, "%s", path);
    return 0;
}

/* The outcome of a call. @stream read it, where it was a stream. */
static int end_of_stream(pawl_client *client, const struct stream *stream, int error,
                         const struct client_answer *answer)
{
    if (error < 0 && atomic_load(&client->cancelled)) {
        client_say(client, "following was cancelled");
        return PAWL_ECANCELLED;
    }
    if (stream->wrong) {
        client_say(client, "%s returned invalid events, or memory ran out",
                   client->server[client->current]);
        return PAWL_EPROTOCOL;
    }
    return error == 0 && !stream->begun ? client_problem(client, answer) : error;
}

int pawl_follow(pawl_client *client, const char *prefix, const char *after,
                void (*happened)(void *user, const struct pawl_event *event), void *user)
{
    char path[CLIENT_PATH_MAX];
    int error = client_check_owner(client);
    if (error == 0)
        error = stream_path(client, prefix != NULL ? prefix : "", after != NULL ? after : "", path);
    if (error < 0)
        return error;
    struct stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        client_say(client, "out of memory");
        return PAWL_ENOMEM;
    }
    stream->happened = happened;
    stream->user = user;
    const struct client_sink sink = {.begun = begin_stream, .take = take_bytes, .user = stream};
    struct client_request request = {
        .method = "GET",
        .path = path,
        .timeout_ms = client_attempt_ms(client),
        .sink = &sink,
    };
    struct client_answer answer = {.json = NULL};
    atomic_store(&client->cancelled, false);
    client->attempting = true;
    error = client_ask(client, &request, &answer);
    client->attempting = false;
    error = end_of_stream(client, stream, error, &answer);
    client_answer_free(&answer);
    free(stream->json);
    free(stream);
    return error;
}
