/* True if a backup of a master may be put back, so that the promises still have to hold. */
#ifndef TESTS_SIM_WORLD_BACKUP_H
#define TESTS_SIM_WORLD_BACKUP_H

#include <stdbool.h>

struct sim_world;

/* Reports whether the master of member @i may restart from its backup now. In worlds of the kind
 * old-disk: each other master was told of the writes that the backup lacks, or a server tells of
 * them, or no server saw them. In all other worlds: each server counts on all masters. */
bool sim_backup_may_return(struct sim_world *world, unsigned i);

#endif
