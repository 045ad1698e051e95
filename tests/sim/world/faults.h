/* The faults now and then: masters and servers that crash, masters that forget, connections
 * that are cut. Faults of each message are in the network. */
#ifndef TESTS_SIM_WORLD_FAULTS_H
#define TESTS_SIM_WORLD_FAULTS_H

#include <stdbool.h>

struct sim_world;

/* The first chance of a fault, and the world's disaster if it has one. */
void sim_faults_start(struct sim_world *world);

/* Something may break now, once of each kind. */
void sim_faults_act(struct sim_world *world);

/* BLACKOUT, LOST, DUEL: the one thing that such a world is about. Once; later calls do nothing. */
void sim_faults_disaster(struct sim_world *world);

/* A majority forgets, in one of several ways. */
void sim_faults_lose_majority(struct sim_world *world);

/* The operator restarts the master at the address of member @i, empty. */
void sim_faults_restart_empty(struct sim_world *world, unsigned i);

/* Member @i has just recorded an incarnation for server @s. */
void sim_faults_recorded(struct sim_world *world, unsigned s, unsigned i);

/* Server @s has just read a page of member @i; @last: there are no more. */
void sim_faults_read(struct sim_world *world, unsigned s, unsigned i, bool last);

/* A step was just done at member @i to take it back. */
void sim_faults_importing(struct sim_world *world, unsigned i);

/* The settings of @machine are put right; everywhere, at once. */
void sim_faults_mend(struct sim_world *world, unsigned machine);
void sim_faults_mend_all(struct sim_world *world);

#endif
