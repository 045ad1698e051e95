#include "server/loop/batch_delay.h"

#include <assert.h>

void server_batch_delay_answered(struct server_batch_delay *delay, uint64_t now_us)
{
    if (delay->owed++ == 0)
        delay->since_us = now_us;
}

void server_batch_delay_asked(struct server_batch_delay *delay)
{
    delay->owed -= delay->owed > 0;
    delay->asked++;
}

bool server_batch_delay_waits(struct server_batch_delay *delay, bool could_send, uint64_t now_us)
{
    bool fruitless = delay->asked == 0;
    assert(!delay->holds || delay->owed > 0 || delay->asked > 0);
    delay->asked = 0;
    if (delay->owed == 0 || !could_send) {
        delay->holds = false;
        return false;
    }
    delay->fruitless = fruitless ? delay->fruitless + 1 : 0;
    delay->holds_us = delay->holds ? delay->holds_us : now_us;
    delay->holds = delay->fruitless <= SERVER_BATCH_DELAY_FRUITLESS &&
                   now_us - delay->since_us < SERVER_BATCH_DELAY_US &&
                   now_us - delay->holds_us < SERVER_BATCH_DELAY_US;
    if (delay->holds)
        return true;
    delay->owed = 0;
    delay->fruitless = 0;
    return false;
}
