/* A client extends and joins masters, and tries again with its own lock id meanwhile. Another client
 * wants the lock. LEASES=0: locks expire at any moment. */
#define ATTEMPTS 3
#define SAME_LOCK_ID
#ifndef LEASES
#define LEASES 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef ONE_ASKS_FEW
#define ONE_ASKS_FEW 1
#endif
#define GAP 0
#include "pawl.pml"
