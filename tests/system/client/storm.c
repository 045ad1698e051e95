#include "tests/system/client/storm.h"

#include "tests/lib/case.h"
#include "tests/lib/clock.h"
#include "tests/lib/wait.h"
#include "tests/sim/world/rng.h"
#include "tests/system/calls.h"

#include <signal.h>

enum {
    TICK_MS = 10,
    STOPS_AT_ONCE = 2,
    PER_STOPS_OF_HOLDERS = 900, /* per mille of the stops */
    HOLDS_WITHIN_US = 60000,    /* the last line of a holder is no older */
    STOP_LEAST_MS = STORM_LEASE_MOST_MS + 100,
    STOP_MOST_MS = STORM_LEASE_MOST_MS + 700,
    BETWEEN_STOPS_MS = 3000,
    OUT_LEAST_MS = 100,
    OUT_MOST_MS = 1500,     /* more than the shortest lease */
    PER_BOTH_SERVERS = 150, /* per mille of the faults of pawlds */
    BETWEEN_FAULTS_MS = 600,
    ALL_VOTE_MS = 1500,
    NOTICED_MS = 400, /* many probes of a pawld */
};

/* A master or a pawld that is out, or the time until the next one is. */
struct outage {
    enum storm_fault fault;
    unsigned which;
    bool is_out;
    uint64_t next_ms;
    uint64_t ended_ms; /* the last one */
};

struct stop {
    bool is_stopped;
    unsigned believer;
    uint64_t next_ms;
};

struct state {
    struct storm *storm;
    struct sim_rng rng;
    struct outage master;
    struct outage server;
    uint64_t server_up_ms[STORM_SERVERS]; /* since when it goes on */
    struct stop stop[STOPS_AT_ONCE];
};

static void signal_servers(struct storm *storm, int signal)
{
    for (unsigned i = 0; i < STORM_SERVERS; i++)
        process_signal(storm->server[i].process, signal);
}

static void begin_fault(struct state *state, struct outage *outage)
{
    struct storm *storm = state->storm;
    switch (outage->fault) {
    case STORM_MASTER_KILLED:
        redis_fleet_kill(storm->fleet, outage->which);
        break;
    case STORM_MASTER_STOPPED:
        redis_fleet_pause(storm->fleet, outage->which);
        break;
    case STORM_SERVER_KILLED:
        process_kill(storm->server[outage->which].process);
        break;
    case STORM_SERVER_STOPPED:
        process_signal(storm->server[outage->which].process, SIGSTOP);
        break;
    default:
        signal_servers(storm, SIGSTOP);
        break;
    }
    storm->faults[outage->fault]++;
    outage->is_out = true;
    outage->next_ms = wait_now_ms() + sim_rng_between(&state->rng, OUT_LEAST_MS, OUT_MOST_MS);
    if (outage->fault == STORM_SERVERS_STOPPED)
        outage->next_ms += STORM_LEASE_MOST_MS;
}

static void end_fault(struct state *state, struct outage *outage)
{
    struct storm *storm = state->storm;
    struct pawl_service *server = &storm->server[outage->which % STORM_SERVERS];
    switch (outage->fault) {
    case STORM_MASTER_KILLED:
        redis_fleet_restart(storm->fleet, outage->which, true);
        break;
    case STORM_MASTER_STOPPED:
        redis_fleet_resume(storm->fleet, outage->which);
        break;
    case STORM_SERVER_KILLED:
        *server = pawld_start_on(storm->fleet, server->port, storm->server_options);
        break;
    default:
        signal_servers(storm, SIGCONT);
        break;
    }
    outage->is_out = false;
    outage->ended_ms = wait_now_ms();
    for (unsigned i = 0; outage == &state->server && i < STORM_SERVERS; i++)
        if (i == outage->which || outage->fault == STORM_SERVERS_STOPPED)
            state->server_up_ms[i] = outage->ended_ms;
    outage->next_ms = wait_now_ms() + sim_rng_below(&state->rng, BETWEEN_FAULTS_MS);
}

/* Reports whether the pawld @i goes on for long enough to have noticed what happened to masters:
 * what it says just after it was stopped is of before. */
static bool is_up_to_date(const struct state *state, unsigned i)
{
    const struct outage *server = &state->server;
    const bool is_out =
        server->is_out && (server->which == i || server->fault == STORM_SERVERS_STOPPED);
    return !is_out && wait_now_ms() >= state->server_up_ms[i] + NOTICED_MS;
}

/* A master that came back has to vote before the next one goes. False also where no caller can
 * tell.
 */
static bool all_masters_vote(const struct state *state)
{
    if (wait_now_ms() < state->master.ended_ms + NOTICED_MS)
        return false;
    for (unsigned i = 0; i < STORM_SERVERS; i++) {
        if (!is_up_to_date(state, i))
            continue;
        const struct http_response *response =
            call(state->storm->server[i].port, "GET", "/v1/fleet", NULL, NULL);
        return json_integer_value(json_object_get(response->json, "active")) == SAMPLE_MASTERS;
    }
    return false;
}

static void begin_absence(struct storm *storm, unsigned master)
{
    storm->absences[storm->absence_count++] = (struct belief_absence){
        .master = master,
        .from_us = clock_us(),
        .till_us = UINT64_MAX,
    };
}

/* Also notes that the absence of the last one is over. Then all vote for a while. */
static bool may_lose_a_master(struct state *state)
{
    struct storm *storm = state->storm;
    if (storm->absence_count == STORM_STOPS_MAX || !all_masters_vote(state))
        return false;
    if (storm->absence_count > 0 &&
        storm->absences[storm->absence_count - 1].till_us == UINT64_MAX) {
        storm->absences[storm->absence_count - 1].till_us = clock_us();
        state->master.next_ms = wait_now_ms() + sim_rng_below(&state->rng, ALL_VOTE_MS);
    }
    return true;
}

/* @of: how many there are. The fault is @first, or one of those after it. */
static void move_outage(struct state *state, struct outage *outage, unsigned of,
                        enum storm_fault first)
{
    if (outage->is_out && wait_now_ms() >= outage->next_ms) {
        end_fault(state, outage);
        return;
    }
    if (first == STORM_MASTER_KILLED && !outage->is_out && !may_lose_a_master(state))
        return;
    if (wait_now_ms() < outage->next_ms)
        return;
    outage->fault = first + sim_rng_below(&state->rng, 2);
    if (first == STORM_SERVER_KILLED && sim_rng_chance(&state->rng, PER_BOTH_SERVERS))
        outage->fault = STORM_SERVERS_STOPPED;
    outage->which = sim_rng_below(&state->rng, of);
    if (first == STORM_MASTER_KILLED)
        begin_absence(state->storm, outage->which);
    begin_fault(state, outage);
}

static bool is_stopped(const struct state *state, unsigned believer)
{
    for (unsigned i = 0; i < STOPS_AT_ONCE; i++)
        if (state->stop[i].is_stopped && state->stop[i].believer == believer)
            return true;
    return false;
}

/* The process to stop: mostly the holder. False: none just now. */
static bool choose_believer(struct state *state, unsigned *ret_believer)
{
    const struct storm *storm = state->storm;
    const bool any = !sim_rng_chance(&state->rng, PER_STOPS_OF_HOLDERS);
    const unsigned first = sim_rng_below(&state->rng, storm->believers);
    for (unsigned k = 0; k < storm->believers; k++) {
        const unsigned i = (first + k) % storm->believers;
        if (is_stopped(state, i))
            continue;
        if (any || belief_is_held_now(storm->belief_file[i], clock_us(), HOLDS_WITHIN_US)) {
            *ret_believer = i;
            return true;
        }
    }
    return false;
}

static void begin_stop(struct state *state, struct stop *stop)
{
    struct storm *storm = state->storm;
    if (storm->stop_count == STORM_STOPS_MAX || !choose_believer(state, &stop->believer))
        return;
    process_signal(storm->believer[stop->believer], SIGSTOP);
    storm->stops[storm->stop_count++] = (struct belief_stop){
        .believer = stop->believer,
        .from_us = clock_us(),
    };
    stop->is_stopped = true;
    stop->next_ms = wait_now_ms() + sim_rng_between(&state->rng, STOP_LEAST_MS, STOP_MOST_MS);
}

static void end_stop(struct state *state, struct stop *stop)
{
    struct storm *storm = state->storm;
    for (size_t i = 0; i < storm->stop_count; i++)
        if (storm->stops[i].believer == stop->believer && storm->stops[i].till_us == 0)
            storm->stops[i].till_us = clock_us();
    process_signal(storm->believer[stop->believer], SIGCONT);
    stop->is_stopped = false;
    stop->next_ms = wait_now_ms() + sim_rng_below(&state->rng, BETWEEN_STOPS_MS);
}

static void move_stop(struct state *state, struct stop *stop)
{
    if (wait_now_ms() < stop->next_ms)
        return;
    if (stop->is_stopped)
        end_stop(state, stop);
    else
        begin_stop(state, stop);
}

static void end_all(struct state *state)
{
    if (state->master.is_out)
        end_fault(state, &state->master);
    if (state->server.is_out)
        end_fault(state, &state->server);
    for (unsigned i = 0; i < STOPS_AT_ONCE; i++)
        if (state->stop[i].is_stopped)
            end_stop(state, &state->stop[i]);
}

void storm_run(struct storm *storm, unsigned seconds, uint64_t seed)
{
    const uint64_t now_ms = wait_now_ms();
    struct state state = {
        .storm = storm,
        .master = {.next_ms = now_ms + BETWEEN_FAULTS_MS},
        .server = {.next_ms = now_ms + BETWEEN_FAULTS_MS},
        .stop = {{.next_ms = now_ms}, {.next_ms = now_ms + BETWEEN_STOPS_MS / 2}},
    };
    sim_rng_init(&state.rng, seed, 0);
    while (wait_now_ms() < now_ms + (uint64_t)seconds * 1000) {
        move_outage(&state, &state.master, SAMPLE_MASTERS, STORM_MASTER_KILLED);
        move_outage(&state, &state.server, STORM_SERVERS, STORM_SERVER_KILLED);
        for (unsigned i = 0; i < STOPS_AT_ONCE; i++)
            move_stop(&state, &state.stop[i]);
        wait_ms(TICK_MS);
    }
    end_all(&state);
}
