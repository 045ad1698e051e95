#include "storage/redis/replies.h"

#include "storage/redis/keys.h"
#include "storage/redis/reply_text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_MAX = 40, /* bytes of what came, in the text about it */
    MESSAGE_PARTS = 3,
};

/* ---- what is wrong --------------------------------------------------------------------------- */

/* Returns false, for its callers to return. The first reason stays. */
__attribute__((format(printf, 2, 3))) static bool refuse(struct storage_replies *replies,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!replies->error[0])
        vsnprintf(replies->error, sizeof(replies->error), format, args);
    va_end(args);
    return false;
}

/* One part of a reply, as it comes. */
struct part {
    int type; /* REDIS_REPLY_... */
    const char *bytes;
    size_t len; /* number of the bytes; of an array, its elements */
};

static const char *type_name(int type)
{
    switch (type) {
    case REDIS_REPLY_ERROR:
        return "an error";
    case REDIS_REPLY_STATUS:
        return "a status";
    case REDIS_REPLY_INTEGER:
        return "a number";
    case REDIS_REPLY_ARRAY:
        return "an array";
    case REDIS_REPLY_NIL:
        return "nil";
    default:
        return "a string";
    }
}

static bool refuse_part(struct storage_replies *replies, const struct part *part,
                        const char *problem)
{
    char shown[SHOWN_MAX];
    const char *where = replies->to == STORAGE_REPLIES_TO_LISTENER ? "published: " : "";
    storage_reply_text_show(shown, sizeof(shown), part->bytes, part->bytes ? part->len : 0);
    return refuse(replies, "%s%s came%s%s, %s", where, type_name(part->type), shown[0] ? ": " : "",
                  shown, problem);
}

static bool refuse_size(struct storage_replies *replies, const char *what, unsigned long long size,
                        unsigned most)
{
    const char *where = replies->to == STORAGE_REPLIES_TO_LISTENER ? "published: " : "";
    return refuse(replies, "%sa reply has %llu %s; the limit is %u", where, size, what, most);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool is_text(const struct part *part, const char *text)
{
    return part->type == REDIS_REPLY_STRING && part->len == strlen(text) &&
           memcmp(part->bytes, text, part->len) == 0;
}

/* Reports whether a part has the right shape for a listener. A listener gets one answer to
 * SUBSCRIBE, and after that only messages. hiredis asserts some of this, but nothing guarantees
 * it. */
static bool is_heard(struct storage_replies *replies, const struct part *part, int index)
{
    bool fits = false;
    if (index < 0) {
        replies->is_message = replies->subscribed;
        bool refusal = part->type == REDIS_REPLY_ERROR && !replies->subscribed && !replies->refused;
        replies->refused = replies->refused || refusal;
        fits = refusal ||
               (part->type == REDIS_REPLY_ARRAY && part->len == MESSAGE_PARTS && !replies->refused);
        replies->subscribed = replies->subscribed || !refusal;
    } else if (index == 0) {
        fits = is_text(part, replies->is_message ? "message" : "subscribe");
    } else if (index == 1) {
        fits = is_text(part, STORAGE_RELEASED_CHANNEL);
    } else {
        fits = part->type == (replies->is_message ? REDIS_REPLY_STRING : REDIS_REPLY_INTEGER);
    }
    return fits || refuse_part(replies, part, "which is no message");
}

/* hiredis 1.0 and later read RESP3, too, whose types arrive in the same way. A Redis sends them
 * only after HELLO 3. */
static bool is_of_resp2(struct storage_replies *replies, const redisReadTask *task)
{
    switch (task->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_ARRAY:
    case REDIS_REPLY_INTEGER:
    case REDIS_REPLY_NIL:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        return true;
    default:
        return refuse(replies, "Protocol error, a type came that RESP2 does not have");
    }
}

/* Reports whether a reply may begin, and whether a listener's part has the right shape. */
static bool is_asked_for(struct storage_replies *replies, const redisReadTask *task,
                         const struct part *part)
{
    bool root = !task->parent;
    if (root)
        replies->is_answer = replies->owed > 0;
    if (root && replies->is_answer)
        replies->owed--;
    if (replies->is_answer)
        return true;
    return replies->to == STORAGE_REPLIES_TO_LISTENER
               ? is_heard(replies, part, root ? -1 : task->idx)
               : refuse_part(replies, part, "although no request waits for a reply");
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool fits_depth(struct storage_replies *replies, const redisReadTask *task)
{
    unsigned depth = 1;
    for (; task->parent; task = task->parent)
        depth++;
    return depth <= STORAGE_REPLY_DEPTH_MAX ||
           refuse_size(replies, "arrays in each other", depth, STORAGE_REPLY_DEPTH_MAX);
}

static bool fits_elements(struct storage_replies *replies, size_t elements)
{
    assert(replies->elements <= STORAGE_REPLY_ELEMENTS_MAX);
    if (elements > STORAGE_REPLY_ELEMENTS_MAX - replies->elements)
        return refuse_size(replies, "elements", (unsigned long long)replies->elements + elements,
                           STORAGE_REPLY_ELEMENTS_MAX);
    replies->elements += elements;
    return true;
}

/* Reports whether a string of so many bytes is allowed; called before its bytes are read. */
static bool fits_string(struct storage_replies *replies, unsigned long long len)
{
    assert(replies->bytes <= STORAGE_REPLY_BYTES_MAX);
    if (len > STORAGE_REPLY_STRING_MAX)
        return refuse_size(replies, "bytes in a string", len, STORAGE_REPLY_STRING_MAX);
    if (len > STORAGE_REPLY_BYTES_MAX - replies->bytes)
        return refuse_size(replies, "bytes", replies->bytes + len, STORAGE_REPLY_BYTES_MAX);
    return true;
}

static bool fits_line(struct storage_replies *replies, size_t len, unsigned most)
{
    return len <= most || refuse_size(replies, "bytes in a line", len, most);
}

static bool fits(struct storage_replies *replies, const redisReadTask *task,
                 const struct part *part)
{
    if (!task->parent) {
        replies->elements = 0;
        replies->bytes = 0;
    }
    if (!is_of_resp2(replies, task) || !is_asked_for(replies, task, part))
        return false;
    if (part->type == REDIS_REPLY_ARRAY)
        return fits_depth(replies, task) && fits_elements(replies, part->len);
    if (!fits_string(replies, part->len) ||
        (part->type != REDIS_REPLY_STRING &&
         !fits_line(replies, part->len, STORAGE_REPLY_LINE_MAX)))
        return false;
    replies->bytes += part->len;
    return true;
}

/* ---- between hiredis' reader and its makers -------------------------------------------------- */

static void *make_string(const redisReadTask *task, char *bytes, size_t len)
{
    struct storage_replies *replies = task->privdata;
    const struct part part = {task->type, bytes, len};
    return fits(replies, task, &part) ? replies->makers->createString(task, bytes, len) : NULL;
}

#if HIREDIS_MAJOR >= 1
typedef size_t array_size;
#else
typedef int array_size;
#endif

static void *make_array(const redisReadTask *task, array_size elements)
{
    struct storage_replies *replies = task->privdata;
    const struct part part = {REDIS_REPLY_ARRAY, NULL, (size_t)elements};
    return fits(replies, task, &part) ? replies->makers->createArray(task, elements) : NULL;
}

static void *make_integer(const redisReadTask *task, long long value)
{
    struct storage_replies *replies = task->privdata;
    const struct part part = {REDIS_REPLY_INTEGER, NULL, 0};
    return fits(replies, task, &part) ? replies->makers->createInteger(task, value) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
    struct storage_replies *replies = task->privdata;
    const struct part part = {REDIS_REPLY_NIL, NULL, 0};
    return fits(replies, task, &part) ? replies->makers->createNil(task) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *make_double(const redisReadTask *task, double value, char *bytes, size_t len)
{
    (void)value, (void)bytes, (void)len;
    (void)is_of_resp2(task->privdata, task);
    return NULL;
}

static void *make_bool(const redisReadTask *task, int value)
{
    (void)value;
    (void)is_of_resp2(task->privdata, task);
    return NULL;
}
#endif

static redisReplyObjectFunctions watched = {
    .createString = make_string,
    .createArray = make_array,
    .createInteger = make_integer,
    .createNil = make_nil,
    .freeObject = freeReplyObject,
#if HIREDIS_MAJOR >= 1
    .createDouble = make_double,
    .createBool = make_bool,
#endif
};

void storage_replies_watch(struct storage_replies *replies, redisContext *context)
{
    assert(context->reader && !context->reader->reply); /* nothing was read yet */
    *replies = (struct storage_replies){.reader = context->reader, .makers = context->reader->fn};
    context->reader->fn = &watched;
    context->reader->privdata = replies;
}

void storage_replies_watch_async(struct storage_replies *replies, redisAsyncContext *context,
                                 enum storage_replies_to to)
{
    storage_replies_watch(replies, &context->c);
    replies->async = context;
    replies->to = to;
}

/* hiredis keeps a callback for each reply that is not complete. */
void storage_replies_expect(struct storage_replies *replies)
{
    unsigned begun = replies->reader->reply != NULL;
    assert(replies->async);
    replies->owed = 0;
    for (const redisCallback *next = replies->async->replies.head; next; next = next->next)
        replies->owed++;
    if (replies->is_answer && replies->owed >= begun)
        replies->owed -= begun;
}

/* ---- what is not complete -------------------------------------------------------------------- */

/* Checks the length before a string whose bytes are not complete. */
static bool bounded_string(struct storage_replies *replies, const char *bytes, size_t len)
{
    char *end = NULL;
    char digits[STORAGE_REPLY_NUMBER_MAX + 1];
    size_t shown = len < STORAGE_REPLY_NUMBER_MAX ? len : STORAGE_REPLY_NUMBER_MAX;
    memcpy(digits, bytes, shown);
    digits[shown] = '\0';
    if (!memchr(digits, '\r', shown))
        return fits_line(replies, len, STORAGE_REPLY_NUMBER_MAX);
    return fits_string(replies, strtoull(digits, &end, 10));
}

/* Returns the type of the part that is being read. */
static int type_under_way(const redisReader *reader)
{
#if HIREDIS_MAJOR >= 1
    return reader->task[reader->ridx]->type;
#else
    return reader->rstack[reader->ridx].type;
#endif
}

bool storage_replies_bounded(struct storage_replies *replies)
{
    const redisReader *reader = replies->reader;
    if (reader->err || reader->ridx < 0)
        return true; /* hiredis reports it; nothing is half-way */
    assert(reader->pos <= reader->len);
    size_t len = reader->len - reader->pos;
    switch (type_under_way(reader)) {
    case REDIS_REPLY_STRING:
        return bounded_string(replies, reader->buf + reader->pos, len);
    case REDIS_REPLY_INTEGER:
    case REDIS_REPLY_ARRAY:
        return fits_line(replies, len, STORAGE_REPLY_NUMBER_MAX);
    default:
        return fits_line(replies, len, STORAGE_REPLY_LINE_MAX);
    }
}

const char *storage_replies_wrong(const redisContext *context)
{
    const struct storage_replies *replies = context->reader ? context->reader->privdata : NULL;
    if (replies && replies->error[0])
        return replies->error;
    return context->err == REDIS_ERR_PROTOCOL ? context->errstr : NULL;
}
