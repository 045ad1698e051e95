/* deceive --seeds A..B    plays the seeds A to B - 1, says what happened
 * deceive --trace SEED    tells the history of one seed
 *
 * Exit status: 0 all went well; 1 something did not hold, an assertion of the core among it, and
 * the seed is told; 2 bad options; 3 something that must happen never did. */
#include "tests/sim/adversary/play.h"
#include "tests/sim/world/seeds.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SEEDS_FOR_ALL = 1000, /* from so many on, everything that is counted must have happened */
};

struct options {
    uint64_t first;
    uint64_t end; /* 0: none was named */
    bool trace;
};

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 's':
        if (!sim_seeds_range(text, &options->first, &options->end))
            argp_error(state, "not a range of seeds: %s", text);
        return 0;
    case 't':
        if (!sim_seeds_number(text, &options->first))
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

/* ---- playing --------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!sim_seeds_show(lines[i].name, lines[i].count, seeds >= SEEDS_FOR_ALL))
            status = SIM_SEEDS_NEVER_HAPPENED;
    printf("%" PRIu64 " seeds, no violation; %.1f s, %.0f seeds a second\n", seeds, seconds,
           (double)seeds / seconds);
    return status;
}

static int play_all(struct play *play, const struct options *options)
{
    double began = sim_seeds_now_s();
    for (uint64_t seed = options->first; seed < options->end; seed++) {
        sim_seeds_playing(seed);
        if (!play_seed(play, seed, options->trace ? stdout : NULL)) {
            printf("seed %" PRIu64 ", after %" PRIu64 " seeds: %s\n", seed,
                   seed - options->first + 1, play->violation);
            return SIM_SEEDS_VIOLATION;
        }
    }
    return report(&play->stats, options->end - options->first, sim_seeds_now_s() - began);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    struct play *play = play_new();
    if (!play)
        return EXIT_FAILURE;
    sim_seeds_watch();
    int status = play_all(play, &options);
    play_free(play);
    return status;
}
