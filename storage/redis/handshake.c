#include "storage/redis/handshake.h"

#include "storage/redis/acquire_check.h"
#include "storage/redis/auth.h"
#include "storage/redis/keys.h"
#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/note_data_loss.lua.h"
#include "storage/redis/lua/restamp.lua.h"
#include "storage/redis/note_process_counts.h"
#include "storage/redis/peer.h"
#include "storage/redis/requests_script.h"
#include "storage/redis/share_positions.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reports whether a reply still belongs to the handshake under way. */
static bool is_of_handshake(const struct storage_session *session, const redisAsyncContext *context,
                            const void *reply)
{
    return reply && storage_connection_is(session->connection, context, STORAGE_LINK_HANDSHAKE);
}

static void on_authenticated(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_session *session = privdata;
    const redisReply *reply = data;
    if (!is_of_handshake(session, context, reply) || reply->type != REDIS_REPLY_ERROR)
        return;
    storage_auth_refused(session->connection->config.url);
    storage_connection_fail(session->connection, FENCE_REASON_ERROR, reply->str);
}

static void on_script_loaded(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_session *session = privdata;
    const redisReply *reply = data;
    if (!is_of_handshake(session, context, reply))
        return;
    if (reply->type == REDIS_REPLY_STRING && reply->len == STORAGE_SHA_LEN)
        memcpy(session->sha, reply->str, STORAGE_SHA_LEN + 1);
    else
        storage_connection_fail(session->connection, FENCE_REASON_ERROR,
                                reply->type == REDIS_REPLY_ERROR ? reply->str
                                                                 : "SCRIPT LOAD failed");
}

/* The fence judges from the facts what is wrong with a marker or with data. */
static void on_active_check(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_session *session = privdata;
    const redisReply *reply = data;
    if (!is_of_handshake(session, context, reply))
        return;
    const enum storage_acquire_check check = storage_acquire_check_read(reply);
    if (check == STORAGE_ACQUIRE_CHECK_ERROR) {
        storage_connection_refused(session->connection, reply);
        return;
    }
    session->takes_locks = check != STORAGE_ACQUIRE_CHECK_CHANGED;
    if (session->takes_locks)
        storage_redis_note_full(&session->reading, check == STORAGE_ACQUIRE_CHECK_FULL);
    storage_connection_ready(session->connection);
}

/* Any other failure is not the check's to judge: the steps that take it back meet it too. */
static void on_joining_check(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_session *session = privdata;
    const redisReply *reply = data;
    if (!is_of_handshake(session, context, reply))
        return;
    if (storage_reply_unwilling(reply))
        storage_connection_fail(session->connection, FENCE_REASON_UNWILLING, reply->str);
    else
        storage_connection_ready(session->connection);
}

/* Writes a loss into the marker, so that it is known after a restart too. If the marker changed
 * meanwhile, another server has judged it. A master that takes no writes will be asked again. */
static bool note_loss(struct storage_session *session)
{
    const struct fence_facts *facts = &session->reading.facts;
    assert(facts->marked && facts->member >= 1);
    if (!session->reading.lost || session->reading.doubted)
        return true;
    return redisAsyncCommand(session->connection->context, NULL, NULL, "EVAL %s 1 %s %s %u %s %s",
                             storage_redis_lua_note_data_loss, STORAGE_FLEET_KEY, facts->fleet_id,
                             (unsigned)facts->member, facts->marked_server_id,
                             facts->marked_lineage) == REDIS_OK;
}

/* Tries a write on a master that is rejoining. The master may refuse all writes though everything
 * else is well. Redis refuses this command if it refuses any write. The command changes nothing: it
 * writes no bytes at the start of a missing string. */
static bool try_write_joining(struct storage_session *session)
{
    return redisAsyncCommand(session->connection->context, on_joining_check, session,
                             "SETRANGE %s 0 %s", STORAGE_PROBE_KEY, "") == REDIS_OK;
}

/* Tries a write. A master whose disk is full answers all questions: without a trial it would count
 * as voting until the first lock. For a replica and a cluster there are better reasons. */
static void try_write(struct storage_session *session)
{
    const struct fence_facts *facts = &session->reading.facts;
    assert(session->connection->link == STORAGE_LINK_HANDSHAKE);
    if (!facts->marked || facts->other_members != 0 || facts->replica ||
        session->reading.server.cluster)
        storage_connection_ready(session->connection);
    else if (!note_loss(session) ||
             !(facts->marked_active ? storage_acquire_check_ask(session, on_active_check, session)
                                    : try_write_joining(session)))
        storage_connection_reset(session->connection);
}

static void read_handshake_fact(struct storage_session *session, enum storage_question question,
                                const redisReply *reply)
{
    assert(question < STORAGE_QUESTIONS);
    int error = storage_facts_read(question, reply, session->members, &session->reading);
    if (error == FENCE_EBUSY) {
        storage_connection_fail(session->connection, FENCE_REASON_ERROR,
                                "LOADING It is still loading its data");
    } else if (error && session->reading.server.cluster) {
        storage_connection_ready(session->connection); /* unfit, for a better reason */
    } else if (error) {
        storage_connection_fail(session->connection, FENCE_REASON_ERROR,
                                reply->type == REDIS_REPLY_ERROR ? storage_reply_words(reply)
                                                                 : "not a Redis that Pawl knows");
    } else if (question + 1 == STORAGE_QUESTIONS) {
        try_write(session);
    }
}

static void on_handshake_config(redisAsyncContext *context, void *reply, void *privdata)
{
    struct storage_session *session = privdata;
    if (is_of_handshake(session, context, reply))
        read_handshake_fact(session, STORAGE_ASK_CONFIG, reply);
}

static void on_handshake_marker(redisAsyncContext *context, void *reply, void *privdata)
{
    struct storage_session *session = privdata;
    if (is_of_handshake(session, context, reply))
        read_handshake_fact(session, STORAGE_ASK_MARKER, reply);
}

static bool authenticate(struct storage_session *session, redisCallbackFn *on_answer)
{
    const char *args[STORAGE_AUTH_ARGS];
    const int n = storage_auth_args(session->connection->config.url, args);
    return n == 0 || redisAsyncCommandArgv(session->connection->context, on_answer, session, n,
                                           args, NULL) == REDIS_OK;
}

/* If Redis refuses, the connection keeps its earlier user. */
static void on_renewed(redisAsyncContext *context, void *data, void *privdata)
{
    const struct storage_session *session = privdata;
    const redisReply *reply = data;
    if (!reply || context != session->connection->context || reply->type != REDIS_REPLY_ERROR)
        return;
    assert(session->refused);
    storage_auth_refused(session->connection->config.url);
    session->refused(session->refused_context, session->index, storage_reply_words(reply));
}

void storage_handshake_renew(struct storage_session *session)
{
    if (!authenticate(session, on_renewed))
        storage_connection_reset(session->connection);
}

static bool ask_in_handshake(struct storage_session *session, enum storage_question question,
                             redisCallbackFn *on_answer)
{
    const char *args[STORAGE_QUESTION_ARGS];
    int n = storage_question_args(question, args);
    return redisAsyncCommandArgv(session->connection->context, on_answer, session, n, args, NULL) ==
           REDIS_OK;
}

/* An error: the server does not have the module, or keeps its command from us. Another version: it
 * speaks of locks in another way. */
static void on_module(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_session *session = privdata;
    const redisReply *reply = data;
    if (is_of_handshake(session, context, reply))
        session->reading.facts.module =
            reply->type == REDIS_REPLY_INTEGER && reply->integer == STORAGE_MODULE_VERSION;
}

static bool ask_for_module(struct storage_session *session)
{
    return session->refuses_module ||
           redisAsyncCommand(session->connection->context, on_module, session,
                             STORAGE_MODULE_COMMAND) == REDIS_OK;
}

static void on_handshake_info(redisAsyncContext *context, void *reply, void *privdata)
{
    struct storage_session *session = privdata;
    if (!is_of_handshake(session, context, reply))
        return;
    read_handshake_fact(session, STORAGE_ASK_INFO, reply);
    if (!is_of_handshake(session, context, reply))
        return; /* it failed by that */
    if (!storage_requests_script_load(session->connection->context, on_script_loaded, session) ||
        !ask_for_module(session) ||
        !ask_in_handshake(session, STORAGE_ASK_CONFIG, on_handshake_config) ||
        !storage_tell(session) ||
        !ask_in_handshake(session, STORAGE_ASK_MARKER, on_handshake_marker))
        storage_connection_reset(session->connection);
}

/* INFO goes first and alone. If a password is missing, its answer says so (NOAUTH). Without a
 * password Redis reads fewer bytes than the length of the script, and would close the connection
 * because of it. */
void storage_handshake_begin(struct storage_session *session)
{
    assert(session->connection->link == STORAGE_LINK_HANDSHAKE && session->connection->context);
    session->leads = false;
    session->takes_locks = false;
    memset(&session->reading, 0, sizeof(session->reading));
    storage_redis_host(session->connection->context->c.fd, session->reading.facts.host);
    if (!ask_in_handshake(session, STORAGE_ASK_INFO, on_handshake_info))
        storage_connection_reset(
            session->connection); /* out of memory; this may be the owner's own call */
}

/* Authenticates once for each connection. A later handshake on it works even if the password has
 * changed since. */
void storage_handshake_open(struct storage_session *session)
{
    if (authenticate(session, on_authenticated))
        storage_handshake_begin(session);
    else
        storage_connection_reset(session->connection);
}

static void on_restamped(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_session *session = privdata;
    const redisReply *reply = data;
    if (!is_of_handshake(session, context, reply))
        return;
    /* A marker that changed meanwhile is no failure: the new facts will show it. */
    if (reply->type == REDIS_REPLY_ERROR)
        storage_connection_refused(session->connection, reply);
    else
        storage_handshake_begin(session);
}

void storage_handshake_restamp(struct storage_session *session, const struct fence_facts *facts)
{
    assert(session->connection->link == STORAGE_LINK_HANDSHAKE);
    size_t lineage_len = strcspn(facts->lineage, STORAGE_LINEAGE_RESET);
    char bytes[STORAGE_BYTES_TEXT_MAX];
    snprintf(bytes, sizeof(bytes), "%" PRIu64, session->reading.marked_bytes);
    if (redisAsyncCommand(session->connection->context, on_restamped, session,
                          "EVAL %s%s 1 %s %s %u %s %s %s %b %s", storage_redis_lua_lineage_check,
                          storage_redis_lua_restamp, STORAGE_FLEET_KEY, facts->fleet_id,
                          facts->member, facts->marked_server_id, facts->marked_lineage,
                          facts->server_id, facts->lineage, lineage_len, bytes) != REDIS_OK ||
        !storage_note_process_counts(session->connection, facts->fleet_id, facts->member))
        storage_connection_reset(session->connection);
}
