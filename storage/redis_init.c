#include "storage/redis_init.h"

#include "fence/fleet.h"
#include "storage/lua/mark.lua.h"
#include "storage/redis_facts.h"
#include "storage/redis_keys.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include <hiredis/hiredis.h>
#include <sodium.h>

struct session {
    const struct storage_redis_init *init;
    struct fence_facts facts[FENCE_MASTERS_MAX];
    redisContext *links[FENCE_MASTERS_MAX];
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    struct fence_view view;
    char why[STORAGE_WHY_MAX];
};

__attribute__((format(printf, 3, 4))) static int because(struct session *session, int error,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(session->why, STORAGE_WHY_MAX, format, args);
    va_end(args);
    return error;
}

static int master_error(struct session *session, unsigned i, int error, const char *what)
{
    char address[STORAGE_ADDRESS_MAX];
    storage_redis_url_show(&session->init->masters[i], address);
    return because(session, error, "master %u (%s): %s", i + 1, address, what);
}

/* ---- looking --------------------------------------------------------------------------------- */

static int connect_master(struct session *session, unsigned i)
{
    const struct storage_redis_url *url = &session->init->masters[i];
    struct timeval deadline = {.tv_sec = STORAGE_INIT_DEADLINE_S};
    redisContext *link = url->path[0] ? redisConnectUnixWithTimeout(url->path, deadline)
                                      : redisConnectWithTimeout(url->host, url->port, deadline);
    session->links[i] = link;
    if (!link)
        return FENCE_ENOMEM;
    if (link->err || redisSetTimeout(link, deadline) != REDIS_OK)
        return master_error(session, i, FENCE_EIO, link->errstr);
    if (!url->password[0])
        return 0;
    redisReply *reply = url->user[0] ? redisCommand(link, "AUTH %s %s", url->user, url->password)
                                     : redisCommand(link, "AUTH %s", url->password);
    bool refused = !reply || reply->type == REDIS_REPLY_ERROR;
    int error =
        refused ? master_error(session, i, FENCE_EIO, reply ? reply->str : link->errstr) : 0;
    freeReplyObject(reply);
    return error;
}

static int ask(struct session *session, unsigned i, enum storage_question question)
{
    const char *args[STORAGE_QUESTION_ARGS];
    int n = storage_question_args(question, args);
    redisReply *reply = redisCommandArgv(session->links[i], n, args, NULL);
    if (!reply)
        return master_error(session, i, FENCE_EIO, session->links[i]->errstr);
    int error = storage_facts_read(question, reply, session->init->n, &session->facts[i]);
    if (error == FENCE_EINVAL) {
        session->facts[i].marked = true; /* by a fleet of another size, but marked */
        error = 0;
    } else if (error) {
        error = master_error(session, i, error,
                             reply->type == REDIS_REPLY_ERROR ? reply->str : "this is not a Redis");
    }
    freeReplyObject(reply);
    return error;
}

/* A fleet of blank masters that all connected: what the judge finds wrong with one of them is its
 * server, not its marker. */
static int judge(struct session *session)
{
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, session->init->n);
    for (unsigned i = 0; i < fleet.n; i++)
        fence_fleet_learn(&fleet, i, &session->facts[i], 1);
    (void)fence_fleet_judge_all(&fleet, 1);
    for (unsigned i = 0; i < fleet.n; i++) {
        if (session->facts[i].marked)
            return master_error(session, i, FENCE_ECONFLICT,
                                "it is already marked as a member of a fleet. If that fleet is "
                                "still in use, do not make a new one; if you are certain that no "
                                "token of it matters any more, delete the key " STORAGE_FLEET_KEY
                                " on it and run init again.");
        enum fence_reason reason = fence_fleet_judge(&fleet, i);
        if (reason != FENCE_REASON_BLANK)
            return master_error(session, i, FENCE_ECONFLICT, fence_reason_text(reason));
    }
    return 0;
}

static int look(struct session *session)
{
    for (unsigned i = 0; i < session->init->n; i++) {
        int error = connect_master(session, i);
        for (int question = 0; !error && question < STORAGE_QUESTIONS; question++)
            error = ask(session, i, (enum storage_question)question);
        if (error)
            return error;
    }
    return judge(session);
}

/* ---- marking --------------------------------------------------------------------------------- */

static int mark(struct session *session, unsigned i)
{
    char view[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&session->view, session->init->n, view);
    const struct fence_facts *facts = &session->facts[i];
    redisReply *reply = redisCommand(
        session->links[i],
        "EVAL %s 1 %s fleet %s member %u run %s max_ttl_ms %u durable %s state %s view %s",
        storage_lua_mark, STORAGE_FLEET_KEY, session->fleet_id, i + 1, facts->run_id,
        session->init->ttl_max_ms, facts->durable ? "yes" : "no", "active", view);
    int error = 0;
    if (!reply || reply->type != REDIS_REPLY_INTEGER)
        error = master_error(session, i, FENCE_EIO, reply ? reply->str : session->links[i]->errstr);
    else if (reply->integer != 1)
        error = master_error(session, i, FENCE_ECONFLICT, "someone else marked it just now");
    freeReplyObject(reply);
    return error;
}

/* What an operator must undo where marking ended half-way. */
static void tell_half_way(struct session *session, unsigned marked)
{
    size_t len = strlen(session->why);
    if (marked > 0)
        snprintf(session->why + len, STORAGE_WHY_MAX - len,
                 "; the masters before it are marked already: delete the key " STORAGE_FLEET_KEY
                 " on the first %u, and run init again",
                 marked);
}

static int mark_all(struct session *session)
{
    unsigned char random[FENCE_ID_HEX_LEN / 2];
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(session->fleet_id, sizeof(session->fleet_id), random, sizeof(random));
    for (unsigned i = 0; i < session->init->n; i++) {
        uint64_t bits = 0;
        randombytes_buf(&bits, sizeof(bits));
        session->view.incarnation[i] = fence_incarnation_next(0, bits);
    }
    for (unsigned i = 0; i < session->init->n; i++) {
        int error = mark(session, i);
        if (error) {
            tell_half_way(session, i);
            return error;
        }
    }
    return 0;
}

static int check_bounds(struct session *session)
{
    const struct storage_redis_init *init = session->init;
    if (init->n % 2 == 0 || init->n > FENCE_MASTERS_MAX)
        return because(
            session, FENCE_EINVAL,
            "a fleet has 1, 3, 5, 7 or 9 masters, not %u: with an even number a majority "
            "is no easier to reach, and no more may fail",
            init->n);
    if (init->ttl_max_ms < FENCE_TTL_MIN_MS || init->ttl_max_ms > FENCE_TTL_CEILING_MS)
        return because(session, FENCE_EINVAL, "the maximum TTL must be %d to %d ms",
                       FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS);
    return 0;
}

int storage_redis_init_new(const struct storage_redis_init *init,
                           char ret_fleet_id[static FENCE_ID_HEX_LEN + 1],
                           char ret_why[static STORAGE_WHY_MAX])
{
    struct session session = {.init = init};
    int error = check_bounds(&session);
    if (!error)
        error = look(&session);
    if (!error)
        error = mark_all(&session);
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        redisFree(session.links[i]);
    if (error)
        memcpy(ret_why, session.why, sizeof(session.why));
    else
        memcpy(ret_fleet_id, session.fleet_id, sizeof(session.fleet_id));
    return error;
}
