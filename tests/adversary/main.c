/* deceive --seeds A..B    plays the seeds A to B - 1, says what happened
 * deceive --trace SEED    tells the history of one seed
 *
 * Exit status: 0 all went well; 1 something did not hold, an assertion of the core among it, and
 * the seed is told; 2 bad options; 3 something that must happen never did. */
#include "tests/adversary/play.h"

#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_VIOLATION = 1,
    EXIT_NEVER_HAPPENED = 3,

    SEEDS_FOR_ALL = 1000, /* from so many on, everything that is counted must have happened */
    SEED_MAX_S = 20,      /* one takes milliseconds: a step that does not end is told, too */
};

struct options {
    uint64_t first;
    uint64_t end; /* 0: none was named */
    bool trace;
};

/* ---- options --------------------------------------------------------------------------------- */

static bool parse_number(const char *text, char end, uint64_t *ret_number, const char **ret_rest)
{
    char *rest = NULL;
    uint64_t number = strtoull(text, &rest, 10);
    if (rest == text || *rest != end)
        return false;
    *ret_number = number;
    *ret_rest = rest;
    return true;
}

static bool parse_range(const char *text, uint64_t *ret_first, uint64_t *ret_end)
{
    const char *rest = NULL;
    return parse_number(text, '.', ret_first, &rest) && strncmp(rest, "..", 2) == 0 &&
           parse_number(rest + 2, '\0', ret_end, &rest) && *ret_first < *ret_end;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    const char *rest = NULL;
    switch (key) {
    case 's':
        if (!parse_range(text, &options->first, &options->end))
            argp_error(state, "not a range of seeds: %s", text);
        return 0;
    case 't':
        if (!parse_number(text, '\0', &options->first, &rest))
            argp_error(state, "not a seed: %s", text);
        options->end = options->first + 1;
        options->trace = true;
        return 0;
    case ARGP_KEY_END:
        if (options->end == 0)
            argp_error(state, "say --seeds or --trace");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option known_options[] = {
    {"seeds", 's', "A..B", 0, "Play the seeds A to B - 1", 0},
    {"trace", 't', "SEED", 0, "Tell the history of one seed", 0},
    {0},
};

static const struct argp argp = {
    .options = known_options,
    .parser = parse_option,
    .doc = "Plays the protocol core against masters that say anything.",
};

/* ---- a core that fails or never returns ------------------------------------------------------ */

/* It must not hide its seed. */
static volatile uint64_t playing;

static void on_signal(int signal_number)
{
    char text[] = "seed                     \n";
    char *digit = text + sizeof(text) - 3;
    uint64_t seed = playing;
    do {
        *digit-- = (char)('0' + seed % 10);
        seed /= 10;
    } while (seed > 0);
    const char *what = signal_number == SIGALRM ? "a step does not end\n" : "";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)!write(STDERR_FILENO, what, strlen(what));
    _exit(EXIT_VIOLATION);
}

/* ---- playing --------------------------------------------------------------------------------- */

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int report(const struct stats *stats, uint64_t seeds, double seconds)
{
    const struct {
        const char *name;
        uint64_t count;
    } lines[] = {
#define LINE(name) {#name, stats->name},
        STATS(LINE)
#undef LINE
    };
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        bool missing = seeds >= SEEDS_FOR_ALL && lines[i].count == 0;
        printf("%-24s %12" PRIu64 "%s\n", lines[i].name, lines[i].count,
               missing ? "  <- never happened" : "");
        if (missing)
            status = EXIT_NEVER_HAPPENED;
    }
    printf("%" PRIu64 " seeds, no violation; %.1f s, %.0f seeds a second\n", seeds, seconds,
           (double)seeds / seconds);
    return status;
}

static int play_all(struct play *play, const struct options *options)
{
    double began = now_seconds();
    for (uint64_t seed = options->first; seed < options->end; seed++) {
        playing = seed;
        (void)alarm(SEED_MAX_S);
        if (!play_seed(play, seed, options->trace ? stdout : NULL)) {
            printf("seed %" PRIu64 ", after %" PRIu64 " seeds: %s\n", seed,
                   seed - options->first + 1, play->violation);
            return EXIT_VIOLATION;
        }
    }
    return report(&play->stats, options->end - options->first, now_seconds() - began);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    struct play *play = play_new();
    if (!play)
        return EXIT_FAILURE;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* on_signal() leaves no time to flush */
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    int status = play_all(play, &options);
    play_free(play);
    return status;
}
