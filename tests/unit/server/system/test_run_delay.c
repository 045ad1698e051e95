/* The wait of a thread for a processor. */
#include "server/system/run_delay.h"
#include "tests/lib/case.h"
#include "tests/lib/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
    SPIN_US = 60000,
    SHARE_US =
        SPIN_US / 8, /* share of two that share one processor, each waits about half of the time */
};

static atomic_bool ends;

static void stay_on_one_processor(void)
{
    cpu_set_t one, allowed;
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void *spin(void *unused)
{
    while (!atomic_load(&ends))
        ;
    return unused;
}

static void spin_for(uint64_t us)
{
    const uint64_t until_us = clock_us() + us;
    while (clock_us() < until_us)
        ;
}

static void time_without_a_processor_is_told_once(void **state)
{
    pthread_t other;
    struct server_run_delay delay = SERVER_RUN_DELAY_INIT;
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip(); /* the kernel does not count */
    stay_on_one_processor();
    assert_int_equal(server_run_delay_us(&delay), 0);
    assert_int_equal(pthread_create(&other, NULL, spin, NULL), 0); /* on the same processor */
    spin_for(SPIN_US);
    const uint64_t waited_us = server_run_delay_us(&delay);
    atomic_store(&ends, true);
    pthread_join(other, NULL);
    assert_true(waited_us >= SHARE_US);
    server_run_delay_fini(&delay);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(time_without_a_processor_is_told_once),
};

CASE_MAIN(cases, NULL, NULL)
