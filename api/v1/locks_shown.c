#include "api/v1/locks_shown.h"

#include "api/v1/write_answer.h"
#include "fence/protocol/owner.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    /* A name and an owner whose every byte is escaped, and the rest. */
    BODY_MAX = 2048,
    SEAT_BODY_MAX = 6 * FENCE_OWNER_MAX + FENCE_KEY_ID_MAX + 192,
};

static void write_holder(struct api_writer *writer, struct api_request *request,
                         const struct fence_seat_shown *seat)
{
    api_write_token_now(writer, seat->token);
    api_write_owner(writer, request, seat->owner);
    api_write_remaining(writer, seat->owner, seat->kept, seat->remaining_ms);
}

static void write_shown(struct api_writer *writer, struct api_request *request, const char *name,
                        const struct fence_seat_shown *seat, bool names_seat)
{
    api_write_object(writer, name);
    if (names_seat)
        api_write_integer(writer, "seat", seat->seat);
    write_holder(writer, request, seat);
    api_write_end(writer);
}

/* Finds the writer: only its seats are held, and it may have lost some. Returns false if there is
 * none. Its token is the greatest, and its lease the shortest, of its seats. */
static bool find_writer(const struct fence_answer *answer, struct fence_seat_shown *ret_writer)
{
    const struct fence_seats_shown *shown = answer->inspect.shown;
    if (shown->count == 0)
        return false;
    struct fence_seat_shown writer = shown->held[0];
    for (unsigned k = 0; k < shown->count; k++) {
        const struct fence_seat_shown *seat = &shown->held[k];
        if (seat->holder != writer.holder || !fence_owner_writes(seat->owner))
            return false;
        if (seat->token == 0 || (writer.token != 0 && seat->token > writer.token))
            writer.token = seat->token;
        if (seat->remaining_ms < writer.remaining_ms)
            writer.remaining_ms = seat->remaining_ms;
    }
    *ret_writer = writer;
    return true;
}

/* The readers of a name, or its writer. */
static void write_shared(struct api_writer *writer, struct api_request *request,
                         const struct fence_answer *answer)
{
    const struct fence_seats_shown *shown = answer->inspect.shown;
    struct fence_seat_shown holder;
    const bool written = find_writer(answer, &holder);
    if (shown->count == 0)
        api_write_null(writer, "mode");
    else
        api_write_string(writer, "mode", written ? "write" : "read");
    if (written)
        write_shown(writer, request, "writer", &holder, false);
    else
        api_write_null(writer, "writer");
    api_write_array(writer, "readers");
    for (unsigned k = 0; k < shown->count && !written; k++)
        write_shown(writer, request, NULL, &shown->held[k], true);
    api_write_end(writer);
}

/* The writer, as a lock under the name of its gate. */
static void answer_shown_writer(struct api_request *request, const struct fence_answer *answer)
{
    char gate[FENCE_RESOURCE_MAX + 1];
    char body[BODY_MAX];
    struct api_writer writer;
    struct fence_seat_shown held = {.owner = ""};
    const bool written = find_writer(answer, &held);
    (void)snprintf(gate, sizeof(gate), "%s", answer->resource);
    fence_gate_write(gate);
    api_write_about(&writer, body, sizeof(body), "resource", gate);
    api_write_bool(&writer, "held", written);
    if (written) {
        api_write_string(&writer, "mode", "write");
        write_holder(&writer, request, &held);
        api_write_integer(&writer, "waiters", answer->inspect.waiters);
    }
    api_write_end(&writer);
    api_answer_document(request, &writer);
}

/* The seats of a semaphore that are held, or who reads or writes. */
static void answer_seats(struct api_request *request, const struct fence_answer *answer)
{
    const struct fence_seats_shown *shown = answer->inspect.shown;
    const size_t size = BODY_MAX + shown->count * (size_t)SEAT_BODY_MAX;
    char *body = api_body_new(request, size);
    if (body == NULL)
        return;
    struct api_writer writer;
    api_write_about(&writer, body, size, "name", answer->resource);
    if (answer->mode == FENCE_MODE_READ) {
        write_shared(&writer, request, answer);
    } else {
        api_write_array(&writer, "held");
        for (unsigned k = 0; k < shown->count; k++)
            write_shown(&writer, request, NULL, &shown->held[k], true);
        api_write_end(&writer);
    }
    api_write_integer(&writer, "waiters", answer->inspect.waiters);
    api_write_end(&writer);
    api_answer_document(request, &writer);
    free(body);
}

static void answer_lock(struct api_request *request, const struct fence_answer *answer)
{
    char body[BODY_MAX];
    struct api_writer writer;
    api_write_about(&writer, body, sizeof(body), "resource", answer->resource);
    api_write_bool(&writer, "held", answer->inspect.held);
    if (answer->inspect.held) {
        api_write_token_now(&writer, answer->token);
        api_write_owner(&writer, request, answer->owner);
        api_write_remaining(&writer, answer->owner, answer->inspect.kept, answer->remaining_ms);
        api_write_integer(&writer, "waiters", answer->inspect.waiters);
    }
    api_write_end(&writer);
    api_answer_document(request, &writer);
}

void api_locks_shown(struct api_request *request, const struct fence_answer *answer)
{
    assert(answer->error == 0);
    assert(answer->kind == FENCE_CALL_INSPECT || answer->kind == FENCE_CALL_WATCH);
    if (answer->inspect.shown == NULL)
        answer_lock(request, answer);
    else if (answer->mode == FENCE_MODE_WRITE)
        answer_shown_writer(request, answer);
    else
        answer_seats(request, answer);
}
