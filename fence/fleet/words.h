/* How a state of a master is told to people and to programs. */
#ifndef FENCE_FLEET_WORDS_H
#define FENCE_FLEET_WORDS_H

struct fence_words {
    const char *name; /* machine-readable, and never changed */
    const char *text; /* one sentence or more that say what to do */
};

#endif
