/* pawl-bench-proxy: a link to one server on loopback, that can be made slow. Prints the port where
 * it listens. SIGUSR1: from now on each round trip takes so much longer; SIGUSR2: no more. SIGTERM
 * ends it. */
#include "tests/chaos/proxy.h"

#include "scripts/bench.d/programs/tally.h"

#include <argp.h>
#include <err.h>
#include <signal.h>
#include <stdio.h>

enum {
    DELAY_MAX_MS = 10000,
    WAYS = 2, /* half of the delay is on each */
};

struct options {
    uint16_t to;
    unsigned delay_ms;
};

static const struct argp_option option_list[] = {
    {"to", 't', "PORT", 0, "Where the server listens on 127.0.0.1", 0},
    {"delay-ms", 'd', "MS", 0, "What SIGUSR1 adds to a round trip, even (default 20)", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 't':
        options->to = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'd':
        options->delay_ms = (unsigned)tally_option(arg, WAYS, DELAY_MAX_MS, state);
        return 0;
    case ARGP_KEY_END:
        if (options->to == 0)
            argp_error(state, "give the port of the server with --to");
        if (options->delay_ms % WAYS != 0)
            argp_error(state, "%u is not an even number", options->delay_ms);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse_option,
        .doc = "A link to one server on loopback, that can be made slow.",
    };
    struct options options = {.delay_ms = 20};
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* for the proxy's thread, too */

    struct proxy *proxy = proxy_new();
    const unsigned link = proxy_add(proxy, options.to);
    printf("%u\n", (unsigned)proxy_port(proxy, link));
    if (fflush(stdout) != 0)
        err(1, "cannot say where it listens");
    for (int got = 0; got != SIGTERM;) {
        if (sigwait(&signals, &got) != 0)
            errx(1, "sigwait");
        proxy_delay(proxy, link, got == SIGUSR1 ? options.delay_ms / WAYS : 0);
    }
    proxy_free(proxy);
    return 0;
}
