#include "tests/sim/adversary/answers.h"

#include "fence/protocol/lease.h"
#include "tests/sim/adversary/play.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DECLINES = 125, /* grants whose clients are gone, per mille */
};

void answers_init(struct answers *answers)
{
    memset(answers, 0, sizeof(*answers));
}

static struct answers_attempt *attempt_of(struct answers *answers, uint64_t attempt)
{
    return &answers->attempts[attempt % ANSWERS_ATTEMPTS];
}

void answers_sent(struct play *play, const struct fence_request *request, uint32_t masters)
{
    if (request->kind != FENCE_REQUEST_TAKE)
        return;
    struct answers_attempt *sent = attempt_of(&play->answers, request->attempt);
    uint32_t before = sent->attempt == request->attempt ? sent->masters : 0; /* this is a hedge */
    *sent = (struct answers_attempt){
        .attempt = request->attempt,
        .masters = before | masters,
    };
}

static bool has_tokens(const struct fence_answer *answer)
{
    for (unsigned k = 0; answer->acquire.group && k < answer->acquire.group->count; k++)
        if (answer->acquire.group->locks[k].token <= 0)
            return false;
    return answer->token > 0;
}

/* The masters that may have the lock, as far as it is known: another attempt may have taken its
 * place here. */
static uint32_t asked_by(struct answers *answers, uint64_t attempt)
{
    const struct answers_attempt *sent = attempt_of(answers, attempt);
    return sent->attempt == attempt ? sent->masters : 0;
}

/* NULL: nothing. */
static const char *wrong_with_grant(struct play *play, const struct calls_client *client,
                                    const struct fence_answer *answer)
{
    if (answer->lease.validity_ms > client->ttl_ms || answer->lease.ttl_ms != client->ttl_ms)
        return "is granted for longer than it asked for";
    if (answer->lease.granted < fence_majority(play->masters))
        return "is granted what no majority agreed to";
    if (answer->kind == FENCE_CALL_EXTEND)
        return NULL;
    if (answer->acquire.sent == 0 || answer->acquire.sent >> play->masters != 0)
        return "is granted a lock, and not told by whom";
    if (asked_by(&play->answers, answer->acquire.attempt) & ~answer->acquire.sent)
        return "is granted a lock that is on other masters, too";
    if (!has_tokens(answer) || client->several != (answer->acquire.group != NULL))
        return "is granted a lock without its tokens";
    if (strcmp(answer->lock_id, client->lock_id) != 0)
        return "is granted the lock of another";
    return NULL;
}

/* NULL: nothing. */
static const char *wrong_with(struct play *play, const struct calls_client *client,
                              const struct fence_answer *answer)
{
    bool acquires = client->kind == FENCE_CALL_ACQUIRE;
    if (!client->calls)
        return "is answered, and asked nothing";
    if (answer->kind != client->kind)
        return "is answered what it did not ask";
    if (acquires && client->left != (answer->error == FENCE_ELEFT))
        return client->left ? "left, and is answered" : "is said to have left";
    if (answer->error > 0 || answer->total != play->masters || answer->resource[0] == '\0' ||
        strlen(answer->owner) > FENCE_OWNER_MAX)
        return "is answered nonsense";
    if (answer->error == 0 && (acquires || answer->kind == FENCE_CALL_EXTEND))
        return wrong_with_grant(play, client, answer);
    if (answer->error == 0 && answer->kind == FENCE_CALL_COUNT &&
        (answer->count.value < 1 || answer->count.value > FENCE_TOKEN_MAX))
        return "is told a value that is none";
    return NULL;
}

static void plan_to_decline(struct answers *answers, const struct fence_answer *answer)
{
    snprintf(answers->declined_resource, sizeof(answers->declined_resource), "%s",
             answer->resource);
    snprintf(answers->declined_id, sizeof(answers->declined_id), "%s", answer->lock_id);
    if (answer->acquire.group)
        answers->declined_group = *answer->acquire.group;
    answers->declines = true;
    answers->declined = (struct fence_taken){
        .resource = answers->declined_resource,
        .group = answer->acquire.group ? &answers->declined_group : NULL,
        .lock_id = answers->declined_id,
        .attempt = answer->acquire.attempt,
        .ttl_ms = answer->lease.ttl_ms,
        .masters = answer->acquire.sent,
    };
}

void answers_check(struct play *play, const struct fence_answer *answer)
{
    struct calls *calls = &play->calls;
    if (answer->client >= CALLS_CLIENTS) {
        play_fail(play, "an answer for client %" PRIu64 ", which there is not", answer->client);
        return;
    }
    struct calls_client *client = &calls->clients[answer->client];
    const char *wrong = wrong_with(play, client, answer);
    if (wrong) {
        play_fail(play, "client %" PRIu64 " %s", answer->client, wrong);
        return;
    }
    client->calls = false;
    calls->open--;
    stats_answer(&play->stats, answer);
    if (answer->kind == FENCE_CALL_ACQUIRE && answer->error == 0 && play_chance(play, DECLINES))
        plan_to_decline(&play->answers, answer);
}

bool answers_decline(struct play *play, struct fence_event *ret_event)
{
    if (!play->answers.declines)
        return false;
    play->answers.declines = false;
    play->stats.declined++;
    *ret_event = (struct fence_event){
        .kind = FENCE_EVENT_DECLINED,
        .declined = play->answers.declined,
    };
    return true;
}
