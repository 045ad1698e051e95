#include "tests/chaos/test_calls.h"

struct history history;
struct history_findings findings;

int begin(void **state)
{
    (void)state;
    findings = (struct history_findings){0};
    return 0;
}

int end(void **state)
{
    (void)state;
    history_fini(&history);
    return 0;
}

void granted(unsigned client, uint64_t sent, uint64_t answered, int64_t token, uint64_t till)
{
    history_add(&history, &(struct history_call){
                              .kind = HISTORY_ACQUIRE,
                              .name = 1,
                              .client = client,
                              .turn = (unsigned)token,
                              .names = 1,
                              .sent_us = sent,
                              .answered_us = answered,
                              .status = 201,
                              .token = token,
                              .till_us = till,
                          });
}

void asked(unsigned client, unsigned turn, uint64_t sent, uint64_t answered, int64_t token,
           uint64_t till)
{
    granted(client, sent, answered, token, till);
    struct history_call *call = &history.calls[history.count - 1];
    call->turn = turn;
    call->ask = HISTORY_OWN;
    if (token == 0)
        call->status = 0;
}

void asked_again(unsigned client, unsigned turn, uint64_t sent, uint64_t answered, int64_t token,
                 uint64_t till)
{
    asked(client, turn, sent, answered, token, till);
    struct history_call *call = &history.calls[history.count - 1];
    call->ask = HISTORY_RETRY;
    if (token != 0)
        call->status = 200;
}

void granted_anew(unsigned client, unsigned turn, uint64_t sent, uint64_t answered, int64_t token,
                  uint64_t till)
{
    granted(client, sent, answered, token, till);
    struct history_call *call = &history.calls[history.count - 1];
    call->kind = HISTORY_EXTEND;
    call->turn = turn;
}

void called(enum history_kind kind, unsigned client, uint64_t sent, int64_t token, uint64_t till)
{
    history_add(&history, &(struct history_call){
                              .kind = kind,
                              .name = 1,
                              .client = client,
                              .turn = (unsigned)token,
                              .sent_us = sent,
                              .answered_us = sent + 1,
                              .status = 200,
                              .token = token,
                              .till_us = till,
                          });
}

void check(const struct history_window *windows, size_t count)
{
    history_check_order(&history, &findings);
    history_check_exclusion(&history, windows, count, &findings);
    history_check_counters(&history, &findings);
    history_check_asking(
        &history, &(struct history_times){.clocks = windows, .clocks_count = count}, &findings);
}
