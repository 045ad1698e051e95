/* Probes a master on the connection that stands: at once after each handshake, then every
 * storage_redis_config.probe_ms. The questions wait their turn behind the requests on their way,
 * and hold up those behind them for less than a millisecond. One of them is whether a lock would be
 * taken (storage_acquire_check_ask()). The findings of a probe go to the owner
 * (storage_master_events.probed). If a finding could change whether the master may vote, the
 * connection is abandoned, and the next handshake decides. */
#ifndef STORAGE_REDIS_PROBE_H
#define STORAGE_REDIS_PROBE_H

#include "storage/redis/session.h"
#include "storage/redis/subscribe.h"
#include "storage/redis/sweep.h"

enum {
    STORAGE_PROBES_MISSED_MAX = 4,   /* probes that may be due while one is unanswered; then the
                                      * master is silent */
    STORAGE_PROBE_SILENCE_MS = 2000, /* but only after so long: the master may be busy */
};

struct storage_probe {
    struct storage_session *session;
    struct storage_listener *listener; /* reopened with a probe */
    struct storage_sweeper *sweeper;   /* started if a probe finds that it is needed */
    unsigned interval_ms;
    unsigned missed_max;

    /* The one under way. */
    unsigned owed;   /* answers that the current probe is owed */
    unsigned missed; /* probes that were due since, and were not made */
    bool failed;     /* its findings will not be reported */
    uint64_t sent_ns;
    struct storage_reading reading;
};

/* To be called once, before the first probe. */
void storage_probe_set_interval(struct storage_probe *probe, unsigned interval_ms);

/* Probes now and every @probe->interval_ms, until a handshake begins or the connection fails.
 * Precondition: the link is READY. */
void storage_probe_begin(struct storage_probe *probe);

#endif
