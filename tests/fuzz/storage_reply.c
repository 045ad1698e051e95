/* Replies come from masters, and from anybody on the way. Whatever hiredis makes of the bytes is
 * given to every reader that could meet it. */
#include "storage/redis/batch.h"
#include "storage/redis/facts.h"
#include "storage/redis/rejoin.h"
#include "storage/redis/replies.h"
#include "storage/redis/scan.h"

#include <assert.h>
#include <string.h>

enum {
    MEMBERS = 5,
};

static void read_facts(const redisReply *reply)
{
    for (unsigned question = 0; question < STORAGE_QUESTIONS; question++) {
        struct storage_reading reading = {0};
        (void)!storage_facts_read((enum storage_question)question, reply, MEMBERS, &reading);
        assert(memchr(reading.facts.lineage, '\0', sizeof(reading.facts.lineage)));
        assert(memchr(reading.facts.persistence, '\0', sizeof(reading.facts.persistence)));
        assert(!reading.facts.marked || reading.facts.member <= FENCE_MASTERS_MAX);
    }
    (void)storage_facts_time_us(reply);
    (void)storage_durable_reply(reply);
}

static void read_rejoin(const redisReply *reply)
{
    for (unsigned step = 0; step <= FENCE_REJOIN_CLOSE; step++) {
        struct fence_view view;
        const struct fence_rejoin_reply read =
            storage_rejoin_reply((enum fence_rejoin_step)step, reply, MEMBERS, &view);
        assert(read.outcome <= FENCE_REJOIN_REFUSED);
        assert(read.page.len == 0 || read.page.bytes);
    }
}

static void check_yes(enum fence_request_kind kind, const struct fence_reply *read)
{
    bool extends = kind == FENCE_REQUEST_EXTEND || kind == FENCE_REQUEST_JOIN;
    bool yes = read->kind == FENCE_REPLY_YES;
    assert(!extends || !yes || (read->number <= FENCE_EXTENSIONS_CEILING && read->owner));
    assert(!read->adopted || (yes && kind == FENCE_REQUEST_RELEASE));
}

static void read_batch(const redisReply *reply)
{
    static struct storage_batch batch;
    struct storage_reply_text text;
    const char *why = NULL;
    batch.count = 0;
    for (unsigned kind = 0; kind <= FENCE_REQUEST_BREAK; kind++)
        for (unsigned locks = 1; locks <= 3; locks += 2)
            batch.expected[batch.count++] = (struct storage_expected){
                .kind = (enum fence_request_kind)kind,
                .locks = (uint16_t)locks,
                .in_group = locks > 1,
            };
    for (unsigned i = 0; i < batch.count; i++) {
        const struct fence_reply read = storage_batch_reply(&batch, i, reply, &text);
        assert(read.kind <= FENCE_REPLY_LOST);
        assert(read.kind != FENCE_REPLY_HELD || (read.holder && read.owner));
        assert(read.number >= 0 && read.number <= FENCE_TOKEN_MAX);
        check_yes(batch.expected[i].kind, &read);
    }
    (void)storage_batch_unwilling(reply, &why);
    (void)storage_reply_changed(reply, &why);
}

static void read_scan(const redisReply *reply)
{
    const char *name = storage_scan_name(reply);
    assert(!name || strlen(name) <= FENCE_RESOURCE_MAX);
    (void)storage_scan_holder(reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    redisContext context = {.reader = redisReaderCreate()};
    struct storage_replies replies;
    void *reply = NULL;
    assert(context.reader);
    storage_replies_watch(&replies, &context);
    replies.owed = 1;
    if (redisReaderFeed(context.reader, (const char *)data, size) == REDIS_OK &&
        redisReaderGetReply(context.reader, &reply) == REDIS_OK && reply) {
        read_facts(reply);
        read_rejoin(reply);
        read_batch(reply);
        read_scan(reply);
    }
    (void)storage_replies_bounded(&replies);
    if (reply)
        freeReplyObject(reply);
    redisReaderFree(context.reader);
    return 0;
}
