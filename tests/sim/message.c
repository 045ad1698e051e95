#include "tests/sim/message.h"

#include <assert.h>
#include <string.h>

enum {
    DIGITS_AT = 20, /* where a lock id's number stands */
    DIGITS = 4,
};

static const char *const resources[SIM_RESOURCES_MAX] = {"r0", "r1", "r2"};

/* One buffer a number, so that texts of several locks can be held at once. */
static char lock_texts[SIM_CALLS_MAX][FENCE_LOCK_ID_LEN + 1];

const char *sim_resource_text(uint32_t resource)
{
    assert(resource < SIM_RESOURCES_MAX);
    return resources[resource];
}

const char *sim_lock_text(uint32_t lock)
{
    assert(lock < SIM_CALLS_MAX);
    char *text = lock_texts[lock];
    if (text[0] == '\0') {
        memcpy(text, "simulated-lock-----________", FENCE_LOCK_ID_LEN);
        for (unsigned i = 0; i < DIGITS; i++, lock /= 10)
            text[DIGITS_AT + DIGITS - 1 - i] = (char)('0' + lock % 10);
    }
    return text;
}

/* The label is the number in the lock id: enough to see that it goes round unharmed. */
const char *sim_owner_text(uint32_t lock)
{
    return sim_lock_text(lock) + DIGITS_AT;
}

uint32_t sim_resource_number(const char *text)
{
    uint32_t resource = (uint32_t)(text[1] - '0');
    assert(strcmp(text, sim_resource_text(resource)) == 0);
    return resource;
}

uint32_t sim_lock_number(const char *text)
{
    if (text[0] == '\0')
        return 0; /* a call without a lock id: inspect */
    assert(strlen(text) == FENCE_LOCK_ID_LEN);
    uint32_t lock = 0;
    for (unsigned i = DIGITS_AT; i < DIGITS_AT + DIGITS; i++)
        lock = lock * 10 + (uint32_t)(text[i] - '0');
    assert(lock < SIM_CALLS_MAX);
    return lock;
}

const char *sim_request_name(enum fence_request_kind kind)
{
    static const char *const names[] = {
        [FENCE_REQUEST_TAKE] = "TAKE",     [FENCE_REQUEST_CONFIRM] = "CONFIRM",
        [FENCE_REQUEST_EXTEND] = "EXTEND", [FENCE_REQUEST_RELEASE] = "RELEASE",
        [FENCE_REQUEST_UNDO] = "UNDO",     [FENCE_REQUEST_INSPECT] = "INSPECT",
    };
    return names[kind];
}

const char *sim_reply_name(enum fence_reply_kind kind)
{
    static const char *const names[] = {
        [FENCE_REPLY_NUMBER] = "NUMBER",
        [FENCE_REPLY_HELD] = "HELD",
        [FENCE_REPLY_YES] = "YES",
        [FENCE_REPLY_NO] = "NO",
        [FENCE_REPLY_EXHAUSTED] = "EXHAUSTED",
        [FENCE_REPLY_REFUSED] = "REFUSED",
        [FENCE_REPLY_LOST] = "LOST",
    };
    return names[kind];
}
