/* The handshake on a new connection: authenticate, ask what this Redis is; then, in one pipeline,
 * load the script and ask what it remembers. Then an empty write, to see whether it takes any. A
 * connection outlives what its Redis was, so every script asks again, and so does every look. */
#include "storage/redis/connection.h"
#include "storage/redis/keys.h"
#include "storage/redis/lua/doubt.lua.h"
#include "storage/redis/lua/lineage.lua.h"
#include "storage/redis/lua/requests.lua.h"
#include "storage/redis/lua/restamp.lua.h"
#include "storage/redis/lua/view.lua.h"
#include "storage/redis/peer.h"

#include <stdio.h>
#include <string.h>

static struct storage_redis_master *master_of(const redisAsyncContext *context)
{
    return context->data;
}

/* Whether a reply still belongs to the handshake under way. */
static bool is_current(const redisAsyncContext *context, const void *reply)
{
    const struct storage_redis_master *master = master_of(context);
    return reply && master->context == context && master->state == LINK_SHAKING;
}

static void on_authenticated(redisAsyncContext *context, void *data, void *unused)
{
    const redisReply *reply = data;
    (void)unused;
    if (is_current(context, reply) && reply->type == REDIS_REPLY_ERROR)
        storage_master_fail(master_of(context), FENCE_REASON_ERROR, reply->str);
}

static void on_script_loaded(redisAsyncContext *context, void *data, void *unused)
{
    struct storage_redis_master *master = master_of(context);
    const redisReply *reply = data;
    (void)unused;
    if (!is_current(context, reply))
        return;
    if (reply->type == REDIS_REPLY_STRING && reply->len == STORAGE_SHA_LEN)
        memcpy(master->sha, reply->str, STORAGE_SHA_LEN + 1);
    else
        storage_master_fail(master, FENCE_REASON_ERROR,
                            reply->type == REDIS_REPLY_ERROR ? reply->str : "SCRIPT LOAD failed");
}

/* What is wrong with a marker or with data is the fence's to judge, from the facts. */
static void on_probed(redisAsyncContext *context, void *data, void *unused)
{
    struct storage_redis_master *master = master_of(context);
    const redisReply *reply = data;
    (void)unused;
    if (!is_current(context, reply))
        return;
    const enum storage_probed probed = storage_master_probed(reply);
    if (probed == STORAGE_PROBED_ERROR) {
        storage_master_refused(master, reply);
        return;
    }
    master->probed = probed != STORAGE_PROBED_CHANGED;
    if (master->probed)
        storage_redis_note_full(&master->reading, probed == STORAGE_PROBED_FULL);
    storage_master_ready(master);
}

/* Any other failure is not the probe's to judge: the steps that take it back meet it too. */
static void on_joining_probed(redisAsyncContext *context, void *data, void *unused)
{
    struct storage_redis_master *master = master_of(context);
    const redisReply *reply = data;
    (void)unused;
    if (!is_current(context, reply))
        return;
    if (storage_reply_unwilling(reply))
        storage_master_fail(master, FENCE_REASON_UNWILLING, reply->str);
    else
        storage_master_ready(master);
}

/* What was seen once is known after a restart too. A marker that changed meanwhile was judged by
 * somebody else; a master that takes no writes will be asked again. */
static bool note_loss(struct storage_redis_master *master)
{
    const struct fence_facts *facts = &master->reading.facts;
    if (!master->reading.lost || master->reading.doubted)
        return true;
    return redisAsyncCommand(master->context, NULL, NULL, "EVAL %s 1 %s %s %u %s %s",
                             storage_redis_lua_doubt, STORAGE_FLEET_KEY, facts->fleet_id,
                             (unsigned)facts->member, facts->marked_run_id,
                             facts->marked_lineage) == REDIS_OK;
}

/* Where no lock would be taken whatever else is well. Redis refuses this command where it refuses
 * any write, and it changes nothing: no bytes at the start of a string that is not there. */
static bool probe_joining(struct storage_redis_master *master)
{
    return redisAsyncCommand(master->context, on_joining_probed, NULL, "SETRANGE %s 0 %s",
                             STORAGE_PROBE_KEY, "") == REDIS_OK;
}

/* A master whose disk is full answers all questions, and would be taken for one that
 * votes until the first lock is asked for. A replica and a cluster refuse for reasons that have
 * better names. */
static void probe(struct storage_redis_master *master)
{
    const struct fence_facts *facts = &master->reading.facts;
    if (!facts->marked || facts->replica || master->reading.server.cluster)
        storage_master_ready(master);
    else if (!note_loss(master) || !(facts->marked_active ? storage_master_probe(master, on_probed)
                                                          : probe_joining(master)))
        storage_redis_master_reset(master);
}

static void read_fact(struct storage_redis_master *master, enum storage_question question,
                      const redisReply *reply)
{
    int error = storage_facts_read(question, reply, master->config.members, &master->reading);
    if (error == FENCE_EINVAL) {
        char detail[STORAGE_DETAIL_MAX];
        snprintf(detail, sizeof(detail),
                 "its marker does not describe a fleet of %u: give every --master that init was "
                 "given",
                 master->config.members);
        storage_master_fail(master, FENCE_REASON_ERROR, detail);
    } else if (error == FENCE_EBUSY) {
        storage_master_fail(master, FENCE_REASON_ERROR, "LOADING It is still loading its data");
    } else if (error) {
        storage_master_fail(master, FENCE_REASON_ERROR,
                            reply->type == REDIS_REPLY_ERROR ? reply->str
                                                             : "not a Redis that Pawl knows");
    } else if (question + 1 == STORAGE_QUESTIONS) {
        probe(master);
    }
}

static void on_config(redisAsyncContext *context, void *reply, void *unused)
{
    (void)unused;
    if (is_current(context, reply))
        read_fact(master_of(context), STORAGE_ASK_CONFIG, reply);
}

static void on_marker(redisAsyncContext *context, void *reply, void *unused)
{
    (void)unused;
    if (is_current(context, reply))
        read_fact(master_of(context), STORAGE_ASK_MARKER, reply);
}

static bool authenticate(struct storage_redis_master *master)
{
    const struct storage_redis_url *url = &master->config.url;
    if (!url->password[0])
        return true;
    int status = url->user[0] ? redisAsyncCommand(master->context, on_authenticated, NULL,
                                                  "AUTH %s %s", url->user, url->password)
                              : redisAsyncCommand(master->context, on_authenticated, NULL,
                                                  "AUTH %s", url->password);
    return status == REDIS_OK;
}

static bool ask(struct storage_redis_master *master, enum storage_question question,
                redisCallbackFn *on_answer)
{
    const char *args[STORAGE_QUESTION_ARGS];
    int n = storage_question_args(question, args);
    return redisAsyncCommandArgv(master->context, on_answer, NULL, n, args, NULL) == REDIS_OK;
}

static bool load_script(struct storage_redis_master *master)
{
    return redisAsyncCommand(master->context, on_script_loaded, NULL, "SCRIPT LOAD %s%s%s",
                             storage_redis_lua_lineage, storage_redis_lua_view,
                             storage_redis_lua_requests) == REDIS_OK;
}

static void on_info(redisAsyncContext *context, void *reply, void *unused)
{
    struct storage_redis_master *master = master_of(context);
    (void)unused;
    if (!is_current(context, reply))
        return;
    read_fact(master, STORAGE_ASK_INFO, reply);
    if (!is_current(context, reply))
        return; /* it failed by that */
    if (!load_script(master) || !ask(master, STORAGE_ASK_CONFIG, on_config) ||
        !ask(master, STORAGE_ASK_MARKER, on_marker))
        storage_redis_master_reset(master);
}

/* INFO goes first and alone. Where a password is missing, its answer says so (NOAUTH). The script
 * is longer than what Redis reads from strangers: it would close the connection over that. */
void storage_master_shake_hands(struct storage_redis_master *master)
{
    master->state = LINK_SHAKING;
    master->leads = false;
    master->probed = false;
    memset(&master->reading, 0, sizeof(master->reading));
    storage_redis_host(master->context->c.fd, master->reading.facts.host);
    if (!authenticate(master) || !ask(master, STORAGE_ASK_INFO, on_info))
        storage_redis_master_reset(master); /* out of memory; the owner may be the one that asked */
}

static void on_restamped(redisAsyncContext *context, void *data, void *unused)
{
    struct storage_redis_master *master = master_of(context);
    const redisReply *reply = data;
    (void)unused;
    if (!is_current(context, reply))
        return;
    /* A marker that changed meanwhile is no failure: the new facts will say what it is now. */
    if (reply->type == REDIS_REPLY_ERROR)
        storage_master_refused(master, reply);
    else
        storage_master_shake_hands(master);
}

void storage_redis_master_restamp(struct storage_redis_master *master,
                                  const struct fence_facts *facts)
{
    size_t lineage_len = strcspn(facts->lineage, STORAGE_LINEAGE_RESET);
    if (master->batch)
        storage_master_seal(master);
    master->state = LINK_SHAKING;
    storage_master_set_deadline(master);
    if (redisAsyncCommand(master->context, on_restamped, NULL, "EVAL %s%s 1 %s %s %u %s %s %s %b",
                          storage_redis_lua_lineage, storage_redis_lua_restamp, STORAGE_FLEET_KEY,
                          facts->fleet_id, facts->member, facts->marked_run_id,
                          facts->marked_lineage, facts->run_id, facts->lineage,
                          lineage_len) != REDIS_OK)
        storage_redis_master_reset(master);
}
