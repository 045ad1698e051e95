#include "api/mhd/deadlines.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>

void api_deadlines_init(struct api_deadlines *deadlines, uint32_t head_ms, uint32_t body_ms)
{
    *deadlines = (struct api_deadlines){0};
    deadlines->waits[API_CONNECTION_HEAD].limit_ms = head_ms;
    deadlines->waits[API_CONNECTION_BODY].limit_ms = body_ms;
    deadlines->waits[API_CONNECTION_LINGER].limit_ms = API_CONNECTION_LINGER_MS;
    deadlines->waits[API_CONNECTION_END].limit_ms = API_CONNECTION_END_MS;
    deadlines->waits[API_CONNECTION_IDLE].limit_ms = UINT32_MAX;
}

void api_deadline_init(struct api_deadline *deadline)
{
    *deadline = (struct api_deadline){.wait = API_CONNECTION_FREE};
}

void api_deadline_clear(struct api_deadlines *deadlines, struct api_deadline *deadline)
{
    assert(deadline->wait <= API_CONNECTION_FREE);
    if (deadline->wait == API_CONNECTION_FREE)
        return;
    assert((deadline->prev == NULL) == (deadlines->waits[deadline->wait].first == deadline));
    assert((deadline->next == NULL) == (deadlines->waits[deadline->wait].last == deadline));
    if (deadline->prev != NULL)
        deadline->prev->next = deadline->next;
    else
        deadlines->waits[deadline->wait].first = deadline->next;
    if (deadline->next != NULL)
        deadline->next->prev = deadline->prev;
    else
        deadlines->waits[deadline->wait].last = deadline->prev;
    deadline->wait = API_CONNECTION_FREE;
}

void api_deadline_set(struct api_deadlines *deadlines, struct api_deadline *deadline,
                      enum api_connection_wait wait, uint64_t now_ms)
{
    assert(wait < API_CONNECTION_WAITS);
    api_deadline_clear(deadlines, deadline);
    deadline->wait = (uint8_t)wait;
    deadline->since_ms = now_ms;
    deadline->next = NULL;
    deadline->prev = deadlines->waits[wait].last;
    assert(deadline->prev == NULL || deadline->prev->since_ms <= now_ms);
    if (deadline->prev != NULL)
        deadline->prev->next = deadline;
    else
        deadlines->waits[wait].first = deadline;
    deadlines->waits[wait].last = deadline;
}

struct api_deadline *api_deadlines_older(const struct api_deadlines *deadlines,
                                         enum api_connection_wait wait, uint64_t ms,
                                         uint64_t now_ms)
{
    struct api_deadline *oldest = deadlines->waits[wait].first;
    return oldest != NULL && now_ms - oldest->since_ms >= ms ? oldest : NULL;
}

struct api_deadline *api_deadlines_due(const struct api_deadlines *deadlines,
                                       enum api_connection_wait wait, uint64_t now_ms)
{
    return api_deadlines_older(deadlines, wait, deadlines->waits[wait].limit_ms, now_ms);
}

int api_deadlines_timeout_ms(const struct api_deadlines *deadlines, uint64_t now_ms)
{
    uint64_t next_ms = UINT64_MAX;
    for (int wait = 0; wait < API_CONNECTION_WAITS; wait++) {
        const struct api_deadline *first = deadlines->waits[wait].first;
        if (first != NULL && first->since_ms + deadlines->waits[wait].limit_ms < next_ms)
            next_ms = first->since_ms + deadlines->waits[wait].limit_ms;
    }
    if (next_ms == UINT64_MAX)
        return -1;
    if (next_ms <= now_ms)
        return 0;
    return next_ms - now_ms < INT_MAX ? (int)(next_ms - now_ms) : INT_MAX;
}
