/* Scripts of the story: the scenes that the page begins with, and one of any seed. */
#ifndef API_STORY_SCENE_H
#define API_STORY_SCENE_H

#include <stdint.h>

enum {
    STORY_STEPS_MAX = 64,
};

struct story_step {
    int32_t at_ms;
    int32_t op; /* story_op */
    int32_t whom;
    int32_t value;
};

struct story_script {
    const char *name; /* "gc-pause"; "": of a seed */
    uint32_t seed;
    uint32_t masters;
    int32_t end_ms;
    int32_t count;
    struct story_step steps[STORY_STEPS_MAX];
};

/* How many scenes there are; the @n-th of them, from 0. */
int32_t story_scenes(void);
const struct story_script *story_scene(int32_t n);

/* The script of a seed: clients that work, and things that go wrong. Valid until the next one. */
const struct story_script *story_seed_script(uint32_t seed);

#endif
