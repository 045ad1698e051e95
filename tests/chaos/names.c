#include "tests/chaos/names.h"

#include "tests/chaos/call.h"
#include "tests/lib/wait.h"

#include <stdbool.h>
#include <stdio.h>

enum {
    BEYOND_LEASE_MS = 1000, /* masters' clocks drift, and pawld may be slow */
    PATIENCE_MS = 20000,    /* with 503: on a busy machine masters that are well miss deadlines */
    AGAIN_MS = 100,
};

static int ask_for(const struct names *names, unsigned name)
{
    const unsigned wait_most_ms = names->ttl_max_ms + BEYOND_LEASE_MS;
    char path[32], body[64];
    snprintf(path, sizeof(path), "/v1/locks/accounts/%u", name);
    snprintf(body, sizeof(body), "{\"ttl_ms\": %u, \"wait_ms\": %u}", names->ttl_max_ms,
             wait_most_ms);
    const struct call_request request = {
        .port = names->port[name % 2],
        .method = "POST",
        .path = path,
        .body = body,
        .timeout_ms = wait_most_ms + BEYOND_LEASE_MS,
    };
    struct call_answer answer;
    call(&request, &answer);
    const int status = answer.status;
    call_answer_fini(&answer);
    return status;
}

static bool is_granted(const struct names *names, unsigned name)
{
    const uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
    int status = ask_for(names, name);
    while (status == 503 && wait_now_ms() < end_ms) {
        wait_ms(AGAIN_MS);
        status = ask_for(names, name);
    }
    if (status != 201)
        printf("name %u was not granted after all faults had ended: %d\n", name, status);
    return status == 201;
}

size_t names_not_granted(const struct names *names, const struct history *history,
                         uint64_t healed_us)
{
    bool granted[HISTORY_NAMES_MAX] = {false};
    size_t missing = 0;
    for (size_t i = 0; i < history->count; i++)
        if (history_is_new_grant(&history->calls[i]) && history->calls[i].sent_us > healed_us)
            granted[history->calls[i].name] = true;
    for (unsigned name = 0; name < names->count; name++)
        missing += !granted[name] && !is_granted(names, name);
    return missing;
}
