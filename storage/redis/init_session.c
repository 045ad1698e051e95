#include "storage/redis/init_session.h"

#include "storage/redis/auth.h"
#include "storage/redis/facts.h"
#include "storage/redis/keys.h"
#include "storage/redis/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

/* ---- reasons --------------------------------------------------------------------------------- */

int storage_init_fail(struct storage_init_session *session, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!session->why[0])
        vsnprintf(session->why, STORAGE_WHY_MAX, format, args);
    va_end(args);
    return error;
}

int storage_init_fail_at(struct storage_init_session *session, unsigned i, int error,
                         const char *format, ...)
{
    char address[STORAGE_ADDRESS_MAX];
    char what[STORAGE_WHY_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    storage_redis_url_show(&session->init->masters[i], address);
    return storage_init_fail(session, error, "master %u (%s): %s", i + 1, address, what);
}

int storage_init_fail_reply(struct storage_init_session *session, unsigned i, redisReply *reply)
{
    const char *what = "this is not a Redis";
    char shown[STORAGE_WHY_MAX];
    if (!reply)
        what =
            errno == EAGAIN ? "it did not answer in time" : storage_replies_error(session->link[i]);
    else if (reply->type == REDIS_REPLY_ERROR)
        what = reply->str;
    storage_text_show(shown, sizeof(shown), what, strlen(what));
    int error = storage_init_fail_at(session, i, FENCE_EIO, "%s", shown);
    freeReplyObject(reply);
    return error;
}

void storage_init_advise(struct storage_init_session *session, const char *format, ...)
{
    size_t len = strlen(session->why);
    va_list args;
    va_start(args, format);
    vsnprintf(session->why + len, STORAGE_WHY_MAX - len, format, args);
    va_end(args);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int check_bounds(struct storage_init_session *session)
{
    const struct storage_redis_init *init = session->init;
    if (init->n % 2 == 0 || init->n > FENCE_MASTERS_MAX)
        return storage_init_fail(
            session, FENCE_EINVAL,
            "a fleet has 1, 3, 5, 7 or 9 masters, not %u: with an even number a majority is no "
            "easier to reach, and no more may fail",
            init->n);
    if (init->ttl_max_ms != 0 &&
        (init->ttl_max_ms < FENCE_TTL_MIN_MS || init->ttl_max_ms > FENCE_TTL_CEILING_MS))
        return storage_init_fail(session, FENCE_EINVAL, "the maximum TTL must be %d to %d ms",
                                 FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS);
    return 0;
}

int storage_init_begin(struct storage_init_session *session, const struct storage_redis_init *init,
                       char why[static STORAGE_WHY_MAX])
{
    *session = (struct storage_init_session){.init = init, .why = why};
    why[0] = '\0';
    return check_bounds(session);
}

void storage_init_fini(struct storage_init_session *session)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        redisFree(session->link[i]);
}

/* ---- asking ---------------------------------------------------------------------------------- */

redisReply *storage_init_send(struct storage_init_session *session, unsigned i, const char *command,
                              size_t len)
{
    return storage_replies_ask(session->link[i], command, len, STORAGE_INIT_DEADLINE_S * 1000);
}

redisReply *storage_init_ask(struct storage_init_session *session, unsigned i, int argc,
                             const char *const argv[])
{
    char *command = NULL;
    int len = redisFormatCommandArgv(&command, argc, (const char **)argv, NULL);
    if (len < 0)
        return NULL;
    redisReply *reply = storage_init_send(session, i, command, (size_t)len);
    redisFreeCommand(command);
    return reply;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int connect_master(struct storage_init_session *session, unsigned i)
{
    const struct storage_redis_url *url = &session->init->masters[i];
    struct timeval deadline = {.tv_sec = STORAGE_INIT_DEADLINE_S};
    redisContext *link = url->path[0] ? redisConnectUnixWithTimeout(url->path, deadline)
                                      : redisConnectWithTimeout(url->host, url->port, deadline);
    session->link[i] = link;
    if (!link)
        return FENCE_ENOMEM;
    if (link->err || redisSetTimeout(link, deadline) != REDIS_OK)
        return storage_init_fail_reply(session, i, NULL);
    storage_replies_watch(&session->replies[i], link);
    const char *args[STORAGE_AUTH_ARGS];
    const int n = storage_auth_args(url, args);
    if (n == 0)
        return 0;
    redisReply *reply = storage_init_ask(session, i, n, args);
    if (!reply || reply->type != REDIS_REPLY_STATUS)
        return storage_init_fail_reply(session, i, reply);
    freeReplyObject(reply);
    return 0;
}

static int ask(struct storage_init_session *session, unsigned i, enum storage_question question,
               struct storage_reading *reading)
{
    const char *args[STORAGE_QUESTION_ARGS];
    int n = storage_question_args(question, args);
    redisReply *reply = storage_init_ask(session, i, n, args);
    if (!reply)
        return storage_init_fail_reply(session, i, NULL);
    int error = storage_facts_read(question, reply, session->init->n, reading);
    if (error != 0 && error != FENCE_EINVAL)
        return storage_init_fail_reply(session, i, reply);
    freeReplyObject(reply);
    if (error)
        return storage_init_fail_at(
            session, i, FENCE_ECONFLICT,
            "it is already marked, but not as a member of a fleet of %u. If its fleet is still in "
            "use, name all masters of that; if you are certain that no token of it matters any "
            "more, delete the key " STORAGE_FLEET_KEY " on it and run init again",
            session->init->n);
    return 0;
}

void storage_init_meet(const struct storage_init_session *session, struct fence_fleet *ret_fleet)
{
    fence_fleet_init(ret_fleet, session->init->n);
    for (unsigned i = 0; i < session->init->n; i++) {
        ret_fleet->master[i].facts = session->seen[i];
        ret_fleet->master[i].connected = true;
    }
}

/* What is wrong with a server itself. What its marker says is looked at by who knows what for. */
static int judge_servers(struct storage_init_session *session)
{
    struct fence_fleet fleet;
    storage_init_meet(session, &fleet);
    for (unsigned i = 0; i < fleet.n; i++) {
        enum fence_reason reason = fence_fleet_judge(&fleet, i);
        if (reason != FENCE_REASON_BLANK && reason != FENCE_REASON_NO_MAJORITY &&
            reason != FENCE_REASON_OTHER_MEMBER)
            return storage_init_fail_at(session, i, FENCE_ECONFLICT, "%s",
                                        fence_reason_words(reason, &session->seen[i])->text);
    }
    return 0;
}

int storage_init_look(struct storage_init_session *session)
{
    for (unsigned i = 0; i < session->init->n; i++) {
        struct storage_reading reading = {0};
        int error = connect_master(session, i);
        for (int question = 0; !error && question < STORAGE_QUESTIONS; question++)
            error = ask(session, i, (enum storage_question)question, &reading);
        if (error)
            return error;
        session->seen[i] = reading.facts;
    }
    return judge_servers(session);
}

bool storage_init_blank(const struct storage_init_session *session, unsigned i)
{
    static const struct fence_view nobody; /* was ever admitted */
    const struct fence_facts *facts = &session->seen[i];
    return !facts->marked ||
           (facts->initialising && memcmp(&facts->view, &nobody, sizeof(nobody)) == 0);
}

bool storage_init_has_past(const struct storage_init_session *session, unsigned i)
{
    return session->seen[i].issued;
}
