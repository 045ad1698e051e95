#include "server/loop/lag.h"

void server_lag_init(struct server_lag *lag, uint64_t now_us)
{
    *lag = (struct server_lag){
        .slept_from_us = now_us,
        .heard_us = now_us,
        .run_delay = SERVER_RUN_DELAY_INIT,
    };
}

void server_lag_fini(struct server_lag *lag)
{
    server_run_delay_fini(&lag->run_delay);
}

void server_lag_sleeps(struct server_lag *lag, uint64_t now_us)
{
    lag->slept_from_us = now_us;
}

uint64_t server_lag_woke(struct server_lag *lag, uint64_t due_us, uint64_t woken_us)
{
    const uint64_t wakes_us = due_us > lag->slept_from_us ? due_us : lag->slept_from_us;
    uint64_t late_us = woken_us > wakes_us ? woken_us - wakes_us : 0;
    if (lag->slept_from_us > lag->heard_us) /* when the loop ends, it polls without a turn in
                                             * between */
        late_us += lag->slept_from_us - lag->heard_us;
    lag->heard_us = woken_us;
    return late_us;
}

uint64_t server_lag_ran_late_us(struct server_lag *lag, uint64_t now_us)
{
    if (now_us < lag->delay_due_us)
        return 0;
    lag->delay_due_us = now_us + SERVER_LAG_LEAST_US;
    return server_run_delay_us(&lag->run_delay);
}
