/* What goes wrong now and then: masters and servers that crash, masters that forget, connections
 * that are cut. What goes wrong with each message is in the network. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

struct sim_world;

/* The first chance of a fault, and the world's disaster if it has one. */
void sim_faults_start(struct sim_world *world);

/* Something may break now, once of each kind. */
void sim_faults_act(struct sim_world *world);

/* BLACKOUT, LOST, DUEL: the one thing that such a world is about. Once; later calls do nothing. */
void sim_faults_disaster(struct sim_world *world);

/* The operator restarts the master at the address of member @i, empty. */
void sim_faults_restart_empty(struct sim_world *world, unsigned i);

/* Member @i has just recorded an incarnation for server @s, and was read to the end. */
void sim_faults_recorded(struct sim_world *world, unsigned s, unsigned i);

/* A server has just begun to take back member @i, which keeps its locks. */
void sim_faults_claimed(struct sim_world *world, unsigned i);

#endif
