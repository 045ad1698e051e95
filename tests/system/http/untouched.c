#include "tests/system/http/untouched.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_service service;
static char lock_id[64];
static char *before; /* the content of the master when all had started */

/* All keys and values of the master as one text, in a stable order. The caller frees it. The notes
 * of a look about the process (note_process_counts.lua), is told of positions
 * (share_positions.lua), or writes to see whether it may, is not an input. */
static char *contents(void)
{
    static const char script[] =
        "local all = {} "
        "for _, key in ipairs(redis.call('KEYS', '*')) do"
        "    if redis.call('TYPE', key).ok == 'hash' then"
        "        local fields = redis.call('HGETALL', key) "
        "        for i = 1, #fields, 2 do"
        "            if not string.find(' bytes sets unswept probed positions ', ' ' .. fields[i] "
        ".. ' ') "
        "then"
        "                all[#all + 1] = key .. ' ' .. fields[i] .. '=' .. fields[i + 1]"
        "            end"
        "        end"
        "    else"
        "        all[#all + 1] = key .. '=' .. redis.call('GET', key)"
        "    end "
        "end "
        "table.sort(all) "
        "return table.concat(all, '\\n')";
    redisReply *reply = redis_fleet_command(fleet, 0, "EVAL %s 0", script);
    char *text = strdup(reply->str);
    freeReplyObject(reply);
    return text;
}

int untouched_start(void **state)
{
    fleet_start(1, REDIS_VOLATILE);
    service = pawld_start_new(fleet);
    struct grant grant = call_grant(service.port, "held", "{\"ttl_ms\": 300000}");
    snprintf(lock_id, sizeof(lock_id), "Lock-Id: %s\r\n", grant.lock_id);
    before = contents();
    return 0;
}

int untouched_stop(void **state)
{
    free(before);
    return fleet_teardown(state);
}

int untouched_check(void **state)
{
    assert_true(process_alive(service.process));
    assert_int_equal(call(service.port, "GET", "/readyz", NULL, NULL)->status, 200);
    char *was = before;
    before = contents(); /* damage of one case is not held against the next */
    EXPECT_TEXT(before, was);
    free(was);
    return 0;
}

uint16_t untouched_port(void)
{
    return service.port;
}

const char *untouched_lock_id(void)
{
    return lock_id;
}
