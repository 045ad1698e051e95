#include "server/loop/event_streams.h"

#include "api/http/stream.h"
#include "api/v1/ready.h"
#include "server/loop/event_prefixes.h"
#include "server/system/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECES_A_TURN = 8, /* pieces for one reader in a turn */
};

struct event_reader {
    struct server_event_streams *streams;
    struct api_request *request;
    struct event_reader *prev, *next; /* in a circle */
    uint64_t cursor;                  /* the number of the reader's next event */
    uint64_t missed;                  /* number of events in a gap that the reader must hear of */
    const char *gap;                  /* why there is a gap; NULL: there is none */
    bool greets;                      /* the reader must get the state of the fleet first */
    bool kept;                        /* a part of a piece was not sent */
    uint64_t sent_us;                 /* when the connection last took bytes */
    struct server_event_prefix *prefix;
};

struct server_event_streams {
    struct server_event_streams_config config;
    uv_timer_t timer;
    bool stopped;
    unsigned count;
    struct event_reader *turn; /* the next reader; NULL: no reader */
    uint64_t looked;           /* the number of the next event to look at */
    struct server_event_prefixes prefixes;
};

/* ---- readers --------------------------------------------------------------------------------- */

static void publish_readers(const struct server_event_streams *streams)
{
    api_counter_set(&streams->config.metrics->event_readers, streams->count);
}

static void add_reader(struct server_event_streams *streams, struct event_reader *reader)
{
    struct event_reader *next = streams->turn ? streams->turn : reader;
    reader->next = next;
    reader->prev = streams->turn ? next->prev : reader;
    reader->prev->next = reader;
    next->prev = reader;
    streams->turn = next;
    streams->count++;
    publish_readers(streams);
}

static void free_reader(struct event_reader *reader)
{
    server_event_prefixes_leave(&reader->streams->prefixes, reader->prefix);
    free(reader);
}

/* Ends the stream of @reader. */
static void drop_reader(struct event_reader *reader)
{
    struct server_event_streams *streams = reader->streams;
    assert(streams->count > 0);
    reader->prev->next = reader->next;
    reader->next->prev = reader->prev;
    if (streams->turn == reader)
        streams->turn = reader->next != reader ? reader->next : NULL;
    streams->count--;
    assert(streams->turn != reader && (streams->count == 0) == (streams->turn == NULL));
    publish_readers(streams);
    server_event_ring_leave(streams->config.ring);
    api_stream_end(reader->request);
    server_http_loop_answered(streams->config.http_loop);
    free_reader(reader);
}

static void on_reader_left(void *context, struct api_request *request)
{
    struct event_reader *reader = context;
    assert(reader->request == request);
    (void)request;
    drop_reader(reader);
}

void server_event_streams_end(struct server_event_streams *streams)
{
    while (streams->turn)
        drop_reader(streams->turn);
    uv_timer_stop(&streams->timer);
}

void server_event_streams_stop(struct server_event_streams *streams)
{
    streams->stopped = true;
    server_event_streams_end(streams);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Adds an event that is not in the ring. It gets the id of the event before @reader's next event,
 * so that a client resumes behind it. */
static size_t put_event(const struct event_reader *reader, const struct api_event *event,
                        char *text)
{
    char id[API_EVENT_ID_MAX];
    size_t name_at = 0;
    const size_t len = api_event_write(event, text, &name_at);
    server_event_ring_id(reader->streams->config.ring, reader->cursor - 1, id);
    return len + api_event_write_id(id, text + len);
}

/* Writes the record that comes before the next event of the ring. */
static size_t put_preface(struct event_reader *reader, char *text)
{
    const struct server_event_streams_config *config = &reader->streams->config;
    struct api_event event = {.server = config->server};
    size_t len = 0;
    (void)clock_gettime(CLOCK_REALTIME, &event.at);
    if (reader->gap) {
        event.kind = API_EVENT_GAP;
        event.reason = reader->gap;
        event.missed = reader->missed;
        len = put_event(reader, &event, text);
    }
    if (reader->greets) {
        event = (struct api_event){.kind = API_EVENT_FLEET, .at = event.at, .server = event.server};
        event.state = api_ready_word(api_is_ready(config->backend));
        len += put_event(reader, &event, text + len);
    }
    return len;
}

static void note_event(void *context, const char *name, size_t len, uint64_t number)
{
    struct server_event_streams *streams = context;
    if (len > 0)
        server_event_prefixes_note(&streams->prefixes, name, len, number);
    else
        server_event_prefixes_note_all(&streams->prefixes, number);
}

/* Looks at all new events, once for all readers. */
static void look_at_events(struct server_event_streams *streams)
{
    struct server_event_ring *ring = streams->config.ring;
    const uint64_t next = server_event_ring_next(ring);
    while (streams->looked < next)
        if (server_event_ring_look(ring, &streams->looked, note_event, streams) > 0)
            server_event_prefixes_note_all(&streams->prefixes, streams->looked - 1);
}

/* Reports whether an event that was looked at may be for a reader at @cursor. */
static bool may_have_event(const struct event_reader *reader, uint64_t cursor)
{
    return cursor <= reader->prefix->last && cursor < reader->streams->looked;
}

/* Writes the next piece for @reader, of up to API_STREAM_PIECE_MAX bytes; returns 0 if there is
 * none. *@ret_cursor is the cursor of the reader once the piece is taken. */
static size_t fill_piece(struct event_reader *reader, char *piece, uint64_t *ret_cursor)
{
    struct server_event_ring *ring = reader->streams->config.ring;
    uint64_t missed = 0;
    size_t len = 0;
    *ret_cursor = reader->cursor;
    while (len == 0 && missed == 0 && may_have_event(reader, *ret_cursor))
        len = server_event_ring_read(ring, ret_cursor, reader->prefix->text, piece,
                                     API_STREAM_PIECE_MAX, &missed);
    if (missed == 0 && !may_have_event(reader, *ret_cursor) &&
        *ret_cursor < reader->streams->looked)
        *ret_cursor = reader->streams->looked;
    if (missed > 0) {
        reader->gap = "overflow";
        reader->missed += missed;
        reader->cursor = *ret_cursor;
    }
    if (!reader->gap && !reader->greets)
        return len;
    *ret_cursor = reader->cursor;
    return put_preface(reader, piece);
}

/* Notes that the connection took a piece. */
static void note_sent(struct event_reader *reader, uint64_t cursor)
{
    if (reader->gap)
        api_counter_add(&reader->streams->config.metrics->events_missed, reader->missed);
    reader->gap = NULL;
    reader->missed = 0;
    reader->greets = false;
    reader->cursor = cursor;
}

/* Reports whether the reader's connection has taken no bytes for too long. */
static bool is_stuck(const struct event_reader *reader, uint64_t now_us)
{
    const uint64_t behind = server_event_ring_next(reader->streams->config.ring) - reader->cursor;
    const uint64_t silent_us = now_us - reader->sent_us;
    return silent_us > SERVER_EVENTS_STUCK_US ||
           (silent_us > SERVER_EVENTS_PATIENCE_US && behind > SERVER_EVENTS_BACKLOG);
}

/* Writes a line that clients ignore. Without it, neither side of a silent connection would learn
 * that the other side has disconnected. */
static size_t put_heartbeat(char *piece)
{
    static const char heartbeat[] = ":\n\n";
    memcpy(piece, heartbeat, sizeof(heartbeat) - 1);
    return sizeof(heartbeat) - 1;
}

static bool is_idle(const struct event_reader *reader, uint64_t now_us)
{
    return reader->cursor >= reader->streams->looked && !reader->kept && !reader->gap &&
           !reader->greets && now_us - reader->sent_us < SERVER_EVENTS_HEARTBEAT_US;
}

/* Sends the next piece for @reader, or the unsent rest of the last piece. */
static enum api_sent send_piece(struct event_reader *reader, uint64_t now_us)
{
    char piece[API_STREAM_PIECE_MAX];
    uint64_t cursor = reader->cursor;
    size_t len = reader->kept ? 0 : fill_piece(reader, piece, &cursor);
    if (!reader->kept && len == 0) /* no new event is for this reader */
        reader->cursor = cursor;
    if (!reader->kept && len == 0 && now_us - reader->sent_us >= SERVER_EVENTS_HEARTBEAT_US)
        len = put_heartbeat(piece);
    if (!reader->kept && len == 0)
        return API_SENT_WHOLE;
    const enum api_sent sent = api_stream_send(reader->request, piece, len);
    if (sent == API_SENT_NONE)
        return sent;
    if (!reader->kept)
        note_sent(reader, cursor);
    reader->kept = sent == API_SENT_KEPT;
    reader->sent_us = now_us;
    return sent;
}

/* Sends the new events to @reader. Returns false if the stream must be cut. */
static bool serve_reader(struct event_reader *reader, uint64_t now_us)
{
    enum api_sent sent = API_SENT_WHOLE;
    for (unsigned pieces = 0; pieces < PIECES_A_TURN && sent == API_SENT_WHOLE; pieces++) {
        if (is_idle(reader, now_us))
            return true;
        sent = send_piece(reader, now_us);
    }
    return sent != API_SENT_NONE || !is_stuck(reader, now_us);
}

/* Serves each reader once, until the time for streams is used up. The next turn continues with the
 * next reader. */
static void serve_readers(struct server_event_streams *streams)
{
    const unsigned count = streams->count;
    const uint64_t begun_us = server_clock_us();
    uint64_t now_us = begun_us;
    for (unsigned i = 0; i < count && now_us - begun_us < SERVER_EVENTS_TURN_US; i++) {
        struct event_reader *reader = streams->turn;
        streams->turn = reader->next;
        if (!serve_reader(reader, now_us)) {
            api_counter_add(&streams->config.metrics->event_readers_cut, 1);
            drop_reader(reader);
        }
        now_us = server_clock_us();
    }
}

/* Returns how long to rest. A turn that waited for a processor took longer than it cost, so the
 * rest is bounded. */
static uint64_t rest_of_ms(uint64_t spent_us)
{
    const uint64_t rest_ms = spent_us * SERVER_EVENTS_SHARE / 1000;
    if (rest_ms < SERVER_EVENTS_TICK_MS)
        return SERVER_EVENTS_TICK_MS;
    return rest_ms < SERVER_EVENTS_REST_MS ? rest_ms : SERVER_EVENTS_REST_MS;
}

static void on_events_tick(uv_timer_t *timer)
{
    struct server_event_streams *streams = timer->data;
    const uint64_t begun_us = server_clock_us();
    look_at_events(streams);
    serve_readers(streams);
    const uint64_t spent_us = server_clock_us() - begun_us;
    if (streams->turn)
        uv_timer_start(timer, on_events_tick, rest_of_ms(spent_us), 0);
}

/* ---- clients --------------------------------------------------------------------------------- */

/* Places the reader behind the event that its client has, or at the next event. */
static void place_reader(struct event_reader *reader, const char *after)
{
    struct server_event_ring *ring = reader->streams->config.ring;
    reader->cursor = server_event_ring_next(ring);
    reader->greets = true;
    if (after[0] == '\0')
        return;
    if (server_event_ring_find(ring, after, &reader->cursor) == 0)
        reader->greets = false;
    else
        reader->gap = "unknown-id";
}

static struct event_reader *new_reader(struct server_event_streams *streams,
                                       const struct api_events_call *call)
{
    struct event_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return NULL;
    if (streams->count == 0) /* until now no event was looked at */
        streams->looked = server_event_ring_next(streams->config.ring);
    reader->streams = streams;
    reader->request = call->request;
    reader->sent_us = server_clock_us();
    reader->prefix = server_event_prefixes_join(&streams->prefixes, call->prefix,
                                                server_event_ring_next(streams->config.ring));
    if (reader->prefix)
        return reader;
    free(reader);
    return NULL;
}

/* FENCE_E...: refused. */
static int begin_reader(struct server_event_streams *streams, const struct api_events_call *call)
{
    if (streams->stopped)
        return FENCE_ELEFT;
    if (streams->count >= streams->config.readers)
        return FENCE_EBUSY;
    struct event_reader *reader = new_reader(streams, call);
    if (!reader)
        return FENCE_ENOMEM;
    const int result = server_event_ring_join(streams->config.ring);
    if (result != 0) {
        free_reader(reader);
        return result;
    }
    place_reader(reader, call->after);
    const struct api_stream_owner owner = {.left = on_reader_left, .context = reader};
    if (!api_events_begin(call->request, &owner)) {
        server_event_ring_leave(streams->config.ring);
        free_reader(reader);
        return 0;
    }
    add_reader(streams, reader);
    return 0;
}

void server_event_streams_follow(struct server_event_streams *streams,
                                 const struct api_events_call *call)
{
    const int result = begin_reader(streams, call);
    if (result != 0)
        api_events_refuse(call->request, result);
    else if (streams->count > 0 && !uv_is_active((uv_handle_t *)&streams->timer))
        uv_timer_start(&streams->timer, on_events_tick, SERVER_EVENTS_TICK_MS, 0);
}

int server_event_streams_new(const struct server_event_streams_config *config,
                             struct server_event_streams **ret_streams)
{
    struct server_event_streams *streams = calloc(1, sizeof(*streams));
    if (!streams)
        return FENCE_ENOMEM;
    streams->config = *config;
    const int failed = uv_timer_init(config->loop, &streams->timer);
    assert(!failed); /* it only fills in memory */
    streams->timer.data = streams;
    *ret_streams = streams;
    return 0;
}

static void on_streams_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void server_event_streams_free(struct server_event_streams *streams)
{
    if (!streams)
        return;
    assert(!streams->turn); /* the streams were stopped while their connections were open */
    uv_close((uv_handle_t *)&streams->timer, on_streams_closed);
}
