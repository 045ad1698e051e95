/* The status of a driver: what its worker shows of the core and of the masters. */
#include "server/loop/driver_state.h"
#include "server/system/clock.h"

#include <assert.h>

const struct fence_fleet *server_driver_fleet(const struct server_driver *driver)
{
    return fence_core_fleet(driver->core);
}

const char *server_driver_address(const struct server_driver *driver, unsigned i)
{
    assert(i < driver->config.addresses.n);
    return storage_master_address(driver->masters[i]);
}

void server_driver_masters(const struct server_driver *driver,
                           struct api_master_status ret_masters[static FENCE_MASTERS_MAX])
{
    const struct fence_fleet *fleet = fence_core_fleet(driver->core);
    const uint64_t now_us = server_clock_us();
    for (unsigned i = 0; i < driver->config.addresses.n; i++) {
        const uint64_t due_us = fleet->master[i].eligible_at_us;
        ret_masters[i] = (struct api_master_status){
            .address = storage_master_address(driver->masters[i]),
            .last_failure = storage_master_detail(driver->masters[i]),
            .round_trip_us = storage_master_round_trip_us(driver->masters[i]),
            .state_for_us = now_us - server_masters_log_since_us(&driver->masters_log, i),
            .returns = due_us != 0,
            .returns_in_us = due_us > now_us ? due_us - now_us : 0,
        };
    }
}

const struct fence_counts *server_driver_counts(const struct server_driver *driver)
{
    return fence_core_counts(driver->core);
}

unsigned server_driver_cleanups(const struct server_driver *driver)
{
    return fence_core_cleanups(driver->core);
}

uint64_t server_driver_now_us(const struct server_driver *driver)
{
    return driver->now_us;
}

const struct fence_audit *server_driver_audit(const struct server_driver *driver)
{
    return &driver->audit.found;
}

struct storage_master *server_driver_master(struct server_driver *driver, unsigned i)
{
    assert(i < driver->config.addresses.n);
    return driver->masters[i];
}

unsigned server_driver_calls(const struct server_driver *driver)
{
    return fence_core_calls(driver->core);
}

unsigned server_driver_waiting(const struct server_driver *driver)
{
    return fence_core_waiting(driver->core);
}

struct server_random *server_driver_random(struct server_driver *driver)
{
    return &driver->random;
}
