/* A durable master restarts, and its import breaks off: half-way through it, its disk is believed.
 * Before or after that, it restarts from an older file. */
#define OLDER_FILES 1
#define HALF_WAY 1
#define LEADERS_AT_ONCE 2
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef LEADERS
#define LEADERS 2
#endif
#define GAP 0
#include "pawl.pml"
