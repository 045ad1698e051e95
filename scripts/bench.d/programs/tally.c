#include "scripts/bench.d/programs/tally.h"

#include "tests/lib/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

/* What this process has used so far. */
static struct tally_cpu cpu_used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct tally_cpu){
        .user_us = microseconds(usage.ru_utime),
        .system_us = microseconds(usage.ru_stime),
    };
}

void tally_begin(struct tally *tally)
{
    const uint64_t pairs_all = tally->pairs_all;
    memset(tally, 0, sizeof(*tally));
    tally->pairs_all = pairs_all;
    tally->cpu = cpu_used();
    tally->began_us = clock_us();
}

void tally_add(struct tally *tally, bool acquire, bool good, int status, uint64_t latency_us)
{
    tally->pairs_all += good && !acquire;
    if (tally->ended_us != 0)
        return;
    histogram_add(acquire ? &tally->acquire_us : &tally->release_us, latency_us);
    if (!good)
        tally->errors[status > 0 && status < TALLY_STATUS_MAX ? status : 0]++;
    else if (!acquire)
        tally->pairs++;
}

void tally_print(const struct tally *tally, unsigned connections, unsigned names)
{
    const double seconds = (double)(tally->ended_us - tally->began_us) / 1e6;
    printf("{\"connections\":%u,\"names\":%u,\"seconds\":%.3f,\"pairs\":%" PRIu64
           ",\"pairs_all\":%" PRIu64 ",\"pairs_per_s\":%.0f,\"acquire_us\":",
           connections, names, seconds, tally->pairs, tally->pairs_all,
           (double)tally->pairs / seconds);
    histogram_print(&tally->acquire_us, stdout);
    printf(",\"release_us\":");
    histogram_print(&tally->release_us, stdout);
    printf(",\"errors\":{");
    const char *comma = "";
    for (int status = 0; status < TALLY_STATUS_MAX; status++) {
        if (tally->errors[status] == 0)
            continue;
        printf("%s\"%d\":%" PRIu64, comma, status, tally->errors[status]);
        comma = ",";
    }
    const struct tally_cpu cpu = cpu_used();
    printf("},\"cpu_us\":{\"user\":%" PRIu64 ",\"system\":%" PRIu64 "}}\n",
           cpu.user_us - tally->cpu.user_us, cpu.system_us - tally->cpu.system_us);
}

double tally_option(const char *arg, double min, double max, const struct argp_state *state)
{
    char *end;
    const double value = strtod(arg, &end);
    if (end == arg || *end != '\0' || !(value >= min && value <= max))
        argp_error(state, "%s is not a number from %.0f to %.0f", arg, min, max);
    return value;
}
