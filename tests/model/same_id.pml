/* A client that tries again with its own lock id, and another client. WIDE: counters apart. */
#define ATTEMPTS 3
#define SAME_LOCK_ID
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
