/* Locks expire with leases. A holder extends and joins masters that do not have the lock, while a
 * durable master restarts from an older file. */
#define OLDER_FILES 1
#ifndef LEADERS
#define LEADERS 0
#endif
#define LEASES 1
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef SURPLUS
#define SURPLUS 1
#endif
#define GAP 0
#include "pawl.pml"
