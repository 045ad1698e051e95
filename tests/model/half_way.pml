/* A durable master restarts, and its import breaks off: half-way through it, its disk is trusted.
 * An empty machine may take its name meanwhile, and the old one be reachable again. */
#define HALF_WAY 1
#define RESTARTS 1
#ifndef REPLACEMENTS
#define REPLACEMENTS 1
#endif
#define LEADERS 2
#define LEADERS_AT_ONCE 2
#define GAP 0
#include "pawl.pml"
