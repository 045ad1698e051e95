/* Locks expire with leases. A holder extends twice, over two servers, and joins masters that do not
 * have the lock. WIDE: counters apart. */
#define LEASES 1
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef SURPLUS
#define SURPLUS 1
#endif
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
