/* A history as a scene for the page /story (api/page/story/recording.js): lines of text, in order.
 *
 *   pawl-scene 1
 *   title TEXT
 *   cast CLIENTS SERVERS MASTERS
 *   AT_US says TEXT                                  the words of the trace
 *   AT_US KIND WHO WHOM WHAT ID TOKEN VALUE          an event of api/story/event.h
 *
 * Recording changes nothing in the history. A scene shows one resource. It shows the judgements of
 * the first server that has clients. */
#ifndef TESTS_SIM_WORLD_SCENE_H
#define TESTS_SIM_WORLD_SCENE_H

#include "tests/sim/world/heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sim_plan;
struct sim_scene;
struct sim_world;

/* Plays @plan with seed @seed as sim_world_play() does, and writes the scene to the file @name. The
 * world has just played the same: the scene shows the resource of the violation, or the first.
 * Returns 0; -1: the file cannot be written. */
int sim_scene_play(struct sim_world *world, const struct sim_plan *plan, uint64_t seed,
                   const char *title, const char *name) __attribute__((warn_unused_result));

/* The functions below do nothing in a world that is not recorded. */

/* The world begins. */
void sim_scene_begin(struct sim_world *world);

/* @event is scheduled: perhaps a message that is on its way from now on. */
void sim_scene_scheduled(struct sim_world *world, const struct sim_event *event);

/* @event is put off until @at_us. */
void sim_scene_put_off(struct sim_world *world, const struct sim_event *event, uint64_t at_us);

/* @event is about to happen; something has happened. */
void sim_scene_before(struct sim_world *world, const struct sim_event *event);
void sim_scene_after(struct sim_world *world);

/* A claim, or a write, at the account of a resource. */
struct sim_visit {
    bool writes;
    bool is_stale; /* it is refused */
    int64_t token;
    int64_t value;
};

/* Client @c makes @visit to the account of @resource. */
void sim_scene_account(struct sim_world *world, unsigned c, uint32_t resource,
                       const struct sim_visit *visit);

#endif
