/* A durable master restarts with its data and keeps its lock, and some master forgets. WIDE:
 * counters apart. */
#define RESTARTS 1
#define FORGETTINGS 1
#define LEADERS 2
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
