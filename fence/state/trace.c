#include "fence/state/trace.h"

#include "fence/base/set.h"
#include "fence/protocol/decimal.h"
#include "fence/protocol/error.h"

#include <assert.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const call_words[] = {
    [FENCE_CALL_ACQUIRE] = "acquire", [FENCE_CALL_EXTEND] = "extend",
    [FENCE_CALL_RELEASE] = "release", [FENCE_CALL_INSPECT] = "inspect",
    [FENCE_CALL_COUNT] = "count",     [FENCE_CALL_BREAK] = "break",
    [FENCE_CALL_WATCH] = "watch",
};

/* ---- text ------------------------------------------------------------------------------------ */

struct line {
    char *text;
    size_t len;
};

static void put(struct line *line, const char *text)
{
    const size_t len = strlen(text);
    assert(line->len + len < FENCE_TRACE_TEXT_MAX);
    memcpy(line->text + line->len, text, len + 1);
    line->len += len;
}

static void put_number(struct line *line, const char *before, uint64_t number)
{
    char digits[FENCE_DECIMAL_MAX + 1];
    digits[fence_decimal(number, digits)] = '\0';
    put(line, before);
    put(line, digits);
}

static void put_masters(struct line *line, uint32_t masters)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if (fence_set_has(masters, i))
            put_number(line, " ", i + 1);
}

static void put_call(struct line *line, const struct fence_trace *trace, const char *what)
{
    put(line, " ");
    put(line, call_words[trace->call]);
    put(line, what);
}

static void put_reply(struct line *line, const struct fence_trace *trace)
{
    put_number(line, " master ", trace->master + 1);
    put(line, " replies ");
    put(line, fence_reply_name(trace->reply));
    if (trace->number > 0)
        put_number(line, " ", (uint64_t)trace->number);
}

static void put_answer(struct line *line, const struct fence_trace *trace)
{
    put_call(line, trace, " is answered: ");
    put(line, fence_strerror(trace->error));
    if (trace->number > 0)
        put_number(line, trace->call == FENCE_CALL_COUNT ? ", value " : ", token ",
                   (uint64_t)trace->number);
}

void fence_trace_text(const struct fence_trace *trace, char ret_text[static FENCE_TRACE_TEXT_MAX])
{
    struct line line = {.text = ret_text};
    ret_text[0] = '\0';
    put(&line, trace->resource);
    put(&line, ":");
    switch (trace->kind) {
    case FENCE_TRACE_CALLED:
        put_call(&line, trace, " is called");
        break;
    case FENCE_TRACE_ADMITTING:
        put_call(&line, trace, " waits for admission");
        break;
    case FENCE_TRACE_SENT:
        put(&line, " ");
        put(&line, fence_request_name(trace->request));
        put(&line, " is sent to");
        put_masters(&line, trace->masters);
        break;
    case FENCE_TRACE_REPLIED:
        put_reply(&line, trace);
        break;
    case FENCE_TRACE_LATE:
        put_reply(&line, trace);
        put(&line, ", too late");
        break;
    case FENCE_TRACE_HEDGED:
        put(&line, " others are late, a hedge asks");
        put_masters(&line, trace->masters);
        break;
    case FENCE_TRACE_FROZEN:
        put_masters(&line, trace->masters);
        put_number(&line, " are frozen, token ", (uint64_t)trace->number);
        put_number(&line, ", attempt ", trace->attempt);
        break;
    case FENCE_TRACE_OUTDATED:
        put_call(&line, trace, " keeps to a view that has ended");
        break;
    case FENCE_TRACE_PAUSED:
        put_call(&line, trace, " pauses");
        put_number(&line, " for ", (uint64_t)trace->number);
        put(&line, " us");
        break;
    case FENCE_TRACE_WAITS:
        put_call(&line, trace, " waits");
        break;
    case FENCE_TRACE_RELEASED:
        put(&line, " word came of a release");
        break;
    case FENCE_TRACE_ANSWERED:
        put_answer(&line, trace);
        break;
    }
}
