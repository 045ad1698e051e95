/* A driver from within. Private to server/loop/driver*.c. */
#ifndef SERVER_LOOP_DRIVER_STATE_H
#define SERVER_LOOP_DRIVER_STATE_H

#include "server/loop/audit.h"
#include "server/loop/batch_delay.h"
#include "server/loop/deferred_calls.h"
#include "server/loop/driver.h"
#include "server/loop/lag.h"
#include "server/loop/masters_log.h"
#include "server/loop/undelivered_grant.h"

struct server_driver {
    struct server_driver_config config;
    struct fence_core *core;
    struct storage_master *masters[FENCE_MASTERS_MAX];
    struct server_masters_log masters_log;
    struct server_audit audit;
    struct server_random random;
    uv_timer_t timer;
    uv_check_t check;
    struct server_lag lag;
    struct server_batch_delay batch_delay;
    bool looks_again;                /* the sockets, before time is told to the core */
    uint64_t now_us;                 /* when the present event happened */
    uint64_t timer_due_us;           /* FENCE_NEVER: not set */
    int handles;                     /* not yet closed */
    bool stepped;                    /* an event came since this was cleared */
    struct server_declined declined; /* granted in this step to a client that has gone */
    bool calling;                    /* the present event is a call */
    bool tells_waits;                /* to config.waits */
    struct server_later later;       /* calls that came while */
    bool acting; /* effects are being carried out: no event may come in between */
};

#endif
