#include "tests/lib/wait.h"

#include "tests/lib/clock.h"

#include <errno.h>
#include <time.h>

enum {
    POLL_MS = 2, /* how often a condition is looked at */
};

uint64_t wait_now_ms(void)
{
    return clock_us() / 1000;
}

void wait_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

bool wait_until(bool (*ready)(void *arg), void *arg, unsigned timeout_ms)
{
    const uint64_t end_ms = wait_now_ms() + timeout_ms;
    while (wait_now_ms() < end_ms) {
        if (ready(arg))
            return true;
        wait_ms(POLL_MS);
    }
    return ready(arg);
}
