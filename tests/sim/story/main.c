/* Tells the events of the story, played by this program itself:
 *
 *     story --seeds A..B          the scripts of these seeds, B left out
 *     story --scene NAME          a scene
 *     story --script SEED MASTERS END_MS      operations of stdin: AT_MS OP WHOM VALUE
 *
 * With --raw before it, as the numbers of struct story_event, and eight times -1 behind each
 * story. */
#include "api/story/play.h"
#include "api/story/scene.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_raw;

static int usage(void)
{
    (void)fprintf(stderr, "usage: story [--raw] --seeds A..B | --scene NAME | --script SEED "
                          "MASTERS END_MS\n");
    return 2;
}

static void print_events(void)
{
    const struct story_event *events = story_events();
    const int32_t count = story_events_count();
    for (int32_t k = 0; k < count && !is_raw; k++) {
        const struct story_event *e = &events[k];
        printf("%" PRId32 " %s %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32
               "\n",
               e->at_us, story_event_name(e->kind), e->who, e->whom, e->what, e->id, e->token,
               e->value);
    }
    if (is_raw && fwrite(events, sizeof(*events), (size_t)count, stdout) != (size_t)count)
        abort();
    story_taken();
}

static void run_until(int32_t until_ms)
{
    int32_t came_ms;
    do {
        came_ms = story_run(until_ms);
        print_events();
    } while (came_ms < until_ms);
}

static void play(const struct story_script *script)
{
    static const struct story_event end = {-1, -1, -1, -1, -1, -1, -1, -1};
    if (story_open(script->seed, script->masters))
        abort();
    for (int32_t k = 0; k < script->count; k++) {
        const struct story_step *step = &script->steps[k];
        run_until(step->at_ms);
        (void)story_op(step->op, step->whom, step->value);
    }
    run_until(script->end_ms);
    if (is_raw && fwrite(&end, sizeof(end), 1, stdout) != 1)
        abort();
}

static int play_seeds(const char *range)
{
    char *rest;
    const uint32_t first = (uint32_t)strtoul(range, &rest, 10);
    if (strncmp(rest, "..", 2) != 0)
        return usage();
    const uint32_t end = (uint32_t)strtoul(rest + 2, NULL, 10);
    for (uint32_t seed = first; seed < end; seed++)
        play(story_seed_script(seed));
    return 0;
}

static int play_scene(const char *name)
{
    for (int32_t n = 0; n < story_scenes(); n++)
        if (strcmp(story_scene(n)->name, name) == 0) {
            play(story_scene(n));
            return 0;
        }
    return usage();
}

/* The operation that @text begins with, and what is behind its name. */
static int32_t read_op(const char *text, char **ret_rest)
{
    int32_t op = 0;
    text += strspn(text, " ");
    const size_t len = strcspn(text, " \n");
    while (story_op_name(op) &&
           (strlen(story_op_name(op)) != len || strncmp(story_op_name(op), text, len) != 0))
        op++;
    *ret_rest = (char *)(uintptr_t)(text + len);
    return op;
}

static int play_script(char **words)
{
    static struct story_script script;
    char line[128];
    script.name = "";
    script.seed = (uint32_t)strtoul(words[0], NULL, 10);
    script.masters = (uint32_t)strtoul(words[1], NULL, 10);
    script.end_ms = (int32_t)strtol(words[2], NULL, 10);
    while (script.count < STORY_STEPS_MAX && fgets(line, sizeof(line), stdin)) {
        struct story_step *step = &script.steps[script.count++];
        char *rest;
        step->at_ms = (int32_t)strtol(line, &rest, 10);
        step->op = read_op(rest, &rest);
        step->whom = (int32_t)strtol(rest, &rest, 10);
        step->value = (int32_t)strtol(rest, &rest, 10);
    }
    play(&script);
    return 0;
}

int main(int argc, char **argv)
{
    char **words = argv + 1;
    is_raw = argc > 1 && strcmp(words[0], "--raw") == 0;
    words += is_raw;
    const int count = argc - 1 - is_raw;
    if (count == 2 && strcmp(words[0], "--seeds") == 0)
        return play_seeds(words[1]);
    if (count == 2 && strcmp(words[0], "--scene") == 0)
        return play_scene(words[1]);
    if (count == 4 && strcmp(words[0], "--script") == 0)
        return play_script(words + 1);
    return usage();
}
