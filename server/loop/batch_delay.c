#include "server/loop/batch_delay.h"

void server_gathering_answered(struct server_gathering *gathering, uint64_t now_us)
{
    if (gathering->owed++ == 0)
        gathering->since_us = now_us;
}

void server_gathering_asked(struct server_gathering *gathering)
{
    gathering->owed -= gathering->owed > 0;
    gathering->asked++;
}

bool server_gathering_waits(struct server_gathering *gathering, bool could_send, uint64_t now_us)
{
    bool fruitless = gathering->asked == 0;
    gathering->asked = 0;
    if (gathering->owed == 0 || !could_send)
        return false;
    gathering->fruitless = fruitless ? gathering->fruitless + 1 : 0;
    if (gathering->fruitless <= SERVER_GATHERING_FRUITLESS &&
        now_us - gathering->since_us < SERVER_GATHERING_US)
        return true;
    gathering->owed = 0;
    gathering->fruitless = 0;
    return false;
}
