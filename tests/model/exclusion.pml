/* The same two clients where locks do not expire: attempts fail and are undone, and two clients
 * never hold the lock at once. WIDE: counters apart. */
#define ATTEMPTS 3
#define SAME_LOCK_ID
#define EXPIRIES 0
#define CLEANUPS 1
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
