/* All requests of a loop turn for one master, as one EVALSHA, or as one command of the module; and
 * the parser of its reply. storage/redis/lua/requests.lua and storage/redis/module/ are the other
 * end. */
#ifndef STORAGE_REDIS_BATCH_H
#define STORAGE_REDIS_BATCH_H

#include "fence/protocol/message.h"
#include "fence/protocol/view.h"
#include "storage/redis/request.h"

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

enum {
    STORAGE_BATCH_MAX = 256, /* locks in one script call: the work that a master does without a
                              * pause */
    STORAGE_SHA_LEN = 40,
};

/* The memory of a batch until its reply comes. */
struct storage_batch {
    struct storage_batch *next;
    void *owner;       /* the owner's to use, ... */
    uint64_t sent_ns;  /* ... and this, ... */
    redisReply *reply; /* ... and this: until the master is known to be durable; NULL: none came */
    bool judged;       /* a question behind the call says whether its votes count */
    bool again;        /* it was sent again: the master had lost the script */
    char *command;     /* the bytes that were sent, to send them again; its room stays, ... */
    size_t command_room;
    size_t command_len; /* ... 0: nothing is kept */
    unsigned count;     /* of requests */
    unsigned locks;     /* that they are about */
    struct storage_expected {
        uint64_t tag;
        enum fence_request_kind kind;
        uint16_t locks;
        bool in_group;
    } expected[STORAGE_BATCH_MAX];
};

/* The buffer of a batch. Keys and arguments are separate, because Redis wants all keys first. */
struct storage_batch_writer {
    size_t keys_len;
    size_t args_len;
    unsigned args;
    size_t shared_at;  /* in the arguments: what the last extension shares with those behind it, */
    size_t shared_len; /* 0: the last request is no extension */
    char *keys;
    char *arguments;
    char *command;
};

/* FENCE_ENOMEM. */
FENCE_CHECKED int storage_batch_writer_init(struct storage_batch_writer *writer);
void storage_batch_writer_fini(struct storage_batch_writer *writer);

/* Removes what was added since the last command. */
void storage_batch_clear(struct storage_batch_writer *writer);

/* Reports whether @batch has room for @request. */
bool storage_batch_fits(const struct storage_batch *batch, const struct storage_request *request);

/* Adds @request to @batch, which it fits; the writer holds its bytes. */
void storage_batch_add(struct storage_batch_writer *writer, struct storage_batch *batch,
                       const struct storage_request *request);

/* The terms of a script call: what its sender knows. The master refuses the call if it knows
 * otherwise. */
struct storage_batch_terms {
    const char *sha;  /* digest of the script, STORAGE_SHA_LEN digits; NULL: the module does the
                       * call */
    const char *view; /* as text */
    const char *fleet_id;
    unsigned member; /* 1 .. n */
};

/* The whole command. Valid until the next call; the writer is empty after it. */
const char *storage_batch_command(struct storage_batch_writer *writer,
                                  const struct storage_batch *batch,
                                  const struct storage_batch_terms *terms, size_t *ret_len);

/* Takes the content out of @reply, which hiredis is about to free. The caller frees it with
 * freeReplyObject(). NULL: no memory. */
redisReply *storage_reply_take(redisReply *reply);

/* Keeps a copy of @command for as long as @batch is in use. Nothing is kept if memory is out. */
void storage_batch_keep(struct storage_batch *batch, const char *command, size_t len);

/* Reports whether the master does not know the script, and so has done nothing (SCRIPT FLUSH). */
bool storage_reply_lacks_script(const redisReply *reply);

/* Reports whether @reply is an error that says that this master takes no writes for now, from any
 * client: its disk is full, it lacks replicas, we lack a permission. OOM says no such thing: locks
 * are released then as ever, and have to be, since that makes room. */
bool storage_reply_unwilling(const redisReply *reply);

/* Returns the error in @reply, in words for people: the error of a whole script, or of a command on
 * the fleet's own key. */
const char *storage_reply_words(const redisReply *reply);

/* Reports whether @reply is an error that means that this master is not the one of the handshake.
 * *@ret_why is then its text. */
bool storage_reply_changed(const redisReply *reply, const char **ret_why);

/* Reports the same for any answer in the script's reply. *@ret_why is then its text. */
bool storage_batch_unwilling(const redisReply *reply, const char **ret_why);

/* The buffers that the reader of replies lends for its strings and numbers. */
struct storage_reply_text {
    char holder[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    int64_t numbers[FENCE_GROUP_MAX];
};

/* Returns the reply to the @i-th request of @batch. @reply is the whole script's; NULL: it will
 * never come. An answer that the script does not give counts as refused. The result points to
 * @text. */
struct fence_reply storage_batch_reply(const struct storage_batch *batch, unsigned i,
                                       const redisReply *reply, struct storage_reply_text *text);

#endif
