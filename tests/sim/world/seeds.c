#include "tests/sim/world/seeds.h"

#include "fence/protocol/decimal.h"
#include "tests/lib/clock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options --------------------------------------------------------------------------------- */

bool sim_seeds_number(const char *text, uint64_t *ret_number)
{
    return fence_decimal_read(text, strlen(text), UINT64_MAX, ret_number);
}

bool sim_seeds_range(const char *text, uint64_t *ret_first, uint64_t *ret_end)
{
    const char *dots = strstr(text, "..");
    return dots && fence_decimal_read(text, (size_t)(dots - text), UINT64_MAX, ret_first) &&
           sim_seeds_number(dots + 2, ret_end) && *ret_first < *ret_end;
}

/* ---- the seed under way ---------------------------------------------------------------------- */

/* As text beforehand: a handler may call next to nothing. */
static char playing[FENCE_DECIMAL_MAX];
static size_t playing_len;

static void say(const char *text, size_t len)
{
    (void)!write(STDERR_FILENO, text, len);
}

static void on_signal(int signal_number)
{
    static const char stuck[] = ": a step does not end";
    say("seed ", strlen("seed "));
    say(playing, playing_len);
    if (signal_number == SIGALRM)
        say(stuck, strlen(stuck));
    say("\n", 1);
    _exit(SIM_SEEDS_VIOLATION);
}

void sim_seeds_watch(void)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* on_signal() leaves no time to flush */
    (void)signal(SIGABRT, on_signal);
    (void)signal(SIGALRM, on_signal);
}

void sim_seeds_playing(uint64_t seed)
{
    playing_len = fence_decimal(seed, playing);
    (void)alarm(SIM_SEEDS_MAX_S);
}

/* ---- what is told ---------------------------------------------------------------------------- */

double sim_seeds_now_s(void)
{
    return (double)clock_us() / 1e6;
}

bool sim_seeds_show(const char *name, uint64_t count, bool needed)
{
    bool missing = needed && count == 0;
    printf("%-24s %12" PRIu64 "%s\n", name, count, missing ? "  <- never happened" : "");
    return !missing;
}
