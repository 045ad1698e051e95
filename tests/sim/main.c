/* simulate --seeds A..B [--masters N]    plays the seeds A to B - 1, says what happened
 * simulate --seeds A..B --actions FILE   also writes the actions of each history for the checker
 *                                        (tests/proof)
 * simulate --seeds A..B --all            lists the violations instead of telling the first
 * simulate --shrink SEED [--masters N]   tells a short history that fails as that seed's does
 * simulate --trace SEED [--masters N]    tells one history
 * simulate --shrink SEED --scene FILE    also writes it as a scene that the page /story plays; so
 *                                        does --trace
 * simulate --repeat A..B [--masters N]   plays each seed twice and compares
 *
 * Exit status: 0 all went well; 1 a promise was broken, and the seed and its history are shown;
 * 2 bad options; 3 something that must happen never did. */
#include "tests/sim/world/seeds.h"
#include "tests/sim/world/shrink.h"
#include "tests/sim/world/world.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    TITLE_BYTES = 80,
    SEEDS_FOR_ALL = 10000, /* from so many on, everything that is counted must have happened */
};

enum mode {
    MODE_NONE,
    MODE_SEEDS,
    MODE_TRACE,
    MODE_REPEAT,
    MODE_SHRINK,
};

struct options {
    enum mode mode;
    uint64_t first;
    uint64_t end;
    unsigned masters;
    bool all;
    const char *actions;
    const char *scene;
};

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    uint64_t number = 0;
    switch (key) {
    case 's':
    case 'r':
        options->mode = key == 's' ? MODE_SEEDS : MODE_REPEAT;
        if (!sim_seeds_range(text, &options->first, &options->end))
            argp_error(state, "not a range of seeds: %s", text);
        return 0;
    case 't':
    case 'k':
        options->mode = key == 't' ? MODE_TRACE : MODE_SHRINK;
        if (!sim_seeds_number(text, &options->first))
            argp_error(state, "not a seed: %s", text);
        return 0;
    case 'm':
        if (!sim_seeds_number(text, &number) || number % 2 == 0 || number > FENCE_MASTERS_MAX)
            argp_error(state, "masters: 1, 3, 5, 7 or 9");
        options->masters = (unsigned)number;
        return 0;
    case 'a':
        options->all = true;
        return 0;
    case 'w':
        options->actions = text;
        return 0;
    case 'c':
        options->scene = text;
        return 0;
    case ARGP_KEY_END:
        if (options->mode == MODE_NONE)
            argp_error(state, "say --seeds, --trace, --shrink or --repeat");
        if (options->scene && options->mode != MODE_TRACE && options->mode != MODE_SHRINK)
            argp_error(state, "--scene needs --trace or --shrink");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option known_options[] = {
    {"seeds", 's', "A..B", 0, "Play the seeds A to B - 1", 0},
    {"trace", 't', "SEED", 0, "Tell the history of one seed", 0},
    {"shrink", 'k', "SEED", 0, "Tell a short history that fails like that of SEED", 0},
    {"repeat", 'r', "A..B", 0, "Play each seed twice: the histories must be the same", 0},
    {"masters", 'm', "N", 0, "Masters in each world, instead of a number that the seed chooses", 0},
    {"actions", 'w', "FILE", 0, "With --seeds: write what the checker reads", 0},
    {"scene", 'c', "FILE", 0, "With --trace or --shrink: write a scene for the page /story", 0},
    {"all", 'a', NULL, 0, "List the violations of all seeds, instead of telling the first", 0},
    {0},
};

static const struct argp argp = {
    .options = known_options,
    .parser = parse_option,
    .doc = "Plays the protocol core in simulated worlds.",
};

/* ---- modes ----------------------------------------------------------------------------------- */

static int tell(struct sim_world *world, uint64_t seed, unsigned masters)
{
    uint64_t hash = sim_world_run(world, seed, masters, stdout);
    printf("seed %" PRIu64 " hash %016" PRIx64 ": %s\n", seed, hash,
           sim_check_ok(&world->check) ? "all promises kept" : world->check.violation);
    return sim_check_ok(&world->check) ? EXIT_SUCCESS : SIM_SEEDS_VIOLATION;
}

static int write_scene(struct sim_world *world, const struct sim_plan *plan, uint64_t seed,
                       const char *name)
{
    char title[TITLE_BYTES];
    if (!name)
        return 0;
    (void)snprintf(title, sizeof(title), "Seed %" PRIu64 " of the simulator", seed);
    if (!sim_scene_play(world, plan, seed, title, name))
        return 0;
    fprintf(stderr, "%s: cannot be written\n", name);
    return EXIT_FAILURE;
}

static int shrink(struct sim_world *world, uint64_t seed, const struct options *options)
{
    struct sim_short found;
    const unsigned masters = options->masters;
    if (!sim_shrink(world, seed, masters, &found)) {
        printf("seed %" PRIu64 ": all promises kept\n", seed);
        return EXIT_SUCCESS;
    }
    (void)sim_world_play(world, &found.plan, found.seed, stdout);
    printf("%" PRIu32 " events; %" PRIu32 " histories were played to find it\n", found.events,
           found.played);
    const int failed = write_scene(world, &found.plan, found.seed, options->scene);
    return failed ? failed : SIM_SEEDS_VIOLATION;
}

static int trace(struct sim_world *world, uint64_t seed, const struct options *options)
{
    const int status = tell(world, seed, options->masters);
    const struct sim_plan plan = sim_plan_of_seed(seed, options->masters);
    const int failed = write_scene(world, &plan, seed, options->scene);
    return failed ? failed : status;
}

static int report(const struct sim_world *world, const struct options *options, double seconds)
{
    const struct {
        const char *name;
        uint64_t count;
    } lines[] = {
#define LINE(name) {#name, world->stats.name},
        SIM_STATS(LINE)
#undef LINE
    };
    uint64_t seeds = options->end - options->first;
    bool all = seeds >= SEEDS_FOR_ALL && options->masters == 0;
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!sim_seeds_show(lines[i].name, lines[i].count, all))
            status = SIM_SEEDS_NEVER_HAPPENED;
    printf("%" PRIu64 " seeds, no violation; %.1f s, %.0f seeds a minute\n", seeds, seconds,
           (double)seeds / seconds * 60);
    return status;
}

static int play_all(struct sim_world *world, const struct options *options)
{
    double began = sim_seeds_now_s();
    uint64_t violations = 0;
    for (uint64_t seed = options->first; seed < options->end; seed++) {
        sim_seeds_playing(seed);
        (void)sim_world_run(world, seed, options->masters, NULL);
        if (sim_check_ok(&world->check))
            continue;
        violations++;
        if (options->all) {
            printf("%" PRIu64 " %s\n", seed, world->check.violation);
        } else {
            printf("violation after %" PRIu64 " seeds\n", seed - options->first + 1);
            return tell(world, seed, options->masters);
        }
    }
    if (violations > 0) {
        printf("%" PRIu64 " violations\n", violations);
        return SIM_SEEDS_VIOLATION;
    }
    return report(world, options, sim_seeds_now_s() - began);
}

/* A history that cannot be written is none that the checker accepts. */
static int play_and_write(struct sim_world *world, const struct options *options)
{
    FILE *out = fopen(options->actions, "w");
    world->actions = out ? sim_actions_new(out) : NULL;
    if (!world->actions) {
        fprintf(stderr, "%s: cannot be written\n", options->actions);
        return EXIT_FAILURE;
    }
    int status = play_all(world, options);
    sim_actions_report(world->actions);
    sim_actions_free(world->actions);
    world->actions = NULL;
    return fclose(out) == 0 ? status : EXIT_FAILURE;
}

static int play_twice(struct sim_world *world, const struct options *options)
{
    for (uint64_t seed = options->first; seed < options->end; seed++) {
        sim_seeds_playing(seed);
        uint64_t hash = sim_world_run(world, seed, options->masters, NULL);
        uint64_t again = sim_world_run(world, seed, options->masters, NULL);
        if (hash != again) {
            printf("seed %" PRIu64 " has two histories: %016" PRIx64 " and %016" PRIx64 "\n", seed,
                   hash, again);
            return SIM_SEEDS_VIOLATION;
        }
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options = {.mode = MODE_NONE};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    struct sim_world *world = sim_world_new();
    if (!world)
        return EXIT_FAILURE;
    sim_seeds_watch();
    int status = EXIT_SUCCESS;
    switch (options.mode) {
    case MODE_SEEDS:
        status = options.actions ? play_and_write(world, &options) : play_all(world, &options);
        break;
    case MODE_REPEAT:
        status = play_twice(world, &options);
        break;
    case MODE_SHRINK:
        status = shrink(world, options.first, &options);
        break;
    default:
        status = trace(world, options.first, &options);
        break;
    }
    sim_world_free(world);
    return status;
}
