/* The log's lines about the masters: which masters vote, in which order they belong, and the terms
 * with which their fleet was made.
 *
 * A warning is something to act on. A master that restarts, or that pawld has not reached yet,
 * usually votes again within a second and needs no operator. Such a reason is logged as info first,
 * and as a warning when the master has not voted for SERVER_MASTERS_LASTED_MS. A reason that only
 * an operator can repair is a warning at once. */
#ifndef SERVER_LOOP_MASTERS_LOG_H
#define SERVER_LOOP_MASTERS_LOG_H

#include "fence/fleet/fleet.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SERVER_MASTERS_LASTED_MS = 5000, /* time without a vote; also the time with a vote after
                                      * which a master counts as well again */
};

struct storage_master;

struct server_masters_log {
    const char *label;                     /* begins each line; borrowed */
    struct storage_master *const *masters; /* borrowed, like @label */
    struct {
        enum fence_master_state state;
        enum fence_reason reason;
        uint64_t voted_us;   /* when the master last began to vote */
        uint64_t without_us; /* how long the master had been without a vote at that time */
        uint64_t since_us;   /* since when the master does not vote; short votes are ignored */
        bool warned;         /* the last line was a warning */
    } told[FENCE_MASTERS_MAX];
    struct {
        enum fence_master_state state; /* at the last look, logged or not */
        uint64_t since_us;
    } seen[FENCE_MASTERS_MAX];
    uint64_t settled_us; /* by then every master should have been probed */
    uint64_t due_us;     /* when there may be something to log without an event; FENCE_NEVER */
    char told_fleet_id[FENCE_ID_HEX_LEN +
                       1]; /* the masters whose terms were compared with the options */
};

void server_masters_log_init(struct server_masters_log *log, const char *label,
                             struct storage_master *const *masters, uint64_t now_us);

/* Logs when a master of @fleet starts or ceases to vote, and why: once, not at every try. Call it
 * after an event, and when log->due_us has come. */
void server_masters_log_votes(struct server_masters_log *log, const struct fence_fleet *fleet,
                              uint64_t now_us);

/* Returns when master @i came into its current state, or when the log began if it never changed. */
uint64_t server_masters_log_since_us(const struct server_masters_log *log, unsigned i);

/* Logs if @fleet was made with other terms than the options @ttl_max_ms and @extensions_max (0: not
 * given). The terms of a fleet hold until it is moved. Once for each fleet. */
void server_masters_log_terms(struct server_masters_log *log, const struct fence_fleet *fleet,
                              uint32_t ttl_max_ms, uint32_t extensions_max);

#endif
