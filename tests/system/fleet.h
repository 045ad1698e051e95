/* The masters of the case that runs, and services over them: what most tests here begin and end
 * with.
 *
 *     static void master_that_restarts_is_back(void **state)
 *     {
 *         uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
 *         redis_fleet_kill(fleet, 0);
 *         ...
 *     }
 *
 *     FLEET_CASE(master_that_restarts_is_back, 3, REDIS_ALWAYS),
 */
#ifndef TESTS_SYSTEM_FLEET_H
#define TESTS_SYSTEM_FLEET_H

#include "tests/lib/pawl.h"

/* NULL while no case runs that has one. */
extern struct redis_fleet *fleet;

struct fleet_wanted {
    unsigned n;
    enum redis_persistence persistence;
};

/* A case with its own @n masters, which end with all services when it does. */
#define FLEET_CASE(name, n, persistence)                                                           \
    cmocka_unit_test_prestate_setup_teardown(name, fleet_setup, fleet_teardown,                    \
                                             &((struct fleet_wanted){n, persistence}))

/* The same for a row of a table: @test finds @row in *@state. */
struct fleet_row {
    struct fleet_wanted wanted;
    void *row;
};
#define FLEET_ROW(name, test, n, persistence, row)                                                 \
    {                                                                                              \
        name, test, fleet_setup_row, fleet_teardown, &((struct fleet_row){{n, persistence}, row})  \
    }
int fleet_setup_row(void **state);

/* The setup of FLEET_CASE(), which finds a struct fleet_wanted in *@state; and its teardown, also
 * for the caller of fleet_start(). */
int fleet_setup(void **state);
int fleet_teardown(void **state);

/* Starts @n masters, for a setup that does more: fleet_teardown() ends them. */
void fleet_start(unsigned n, enum redis_persistence persistence);

/* Runs @command (its words apart by spaces, no '%') on master @i, and drops the reply. */
void fleet_command(unsigned i, const char *command);

/* pawld init --new --max-ttl-ms, which has to succeed. */
void fleet_init(unsigned ttl_max_ms);

/* An option and its value, for those who start their own pawld: masters are probed often, so
 * that what a probe finds is found soon. */
#define FLEET_PROBE    "--probe-ms", "50"
#define FLEET_PROBE_MS 50

/* The same for one whose calls ask all masters at once, so that each has every lock. */
#define FLEET_ASK_ALL "--ask", "all"

/* pawld over the fleet that was made, when it is ready. With FLEET_PROBE. */
struct pawl_service fleet_serve(void);

/* The same over a fleet that may not be made, or not be whole: it is not waited for. */
struct pawl_service fleet_serve_early(void);

/* Waits until every master votes at each of the @workers (more than one) of @service. */
void fleet_wait_workers(struct pawl_service service, int workers);

/* The same with FLEET_ASK_ALL, when all masters are active. */
struct pawl_service fleet_serve_all(void);

/* Both, and all masters are active. */
struct pawl_service fleet_init_and_serve(unsigned ttl_max_ms);

#endif
