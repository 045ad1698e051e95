/* Five members, of which a majority has the lock of attempt 0. Its holder extends, and joins the
 * others. Locks expire with leases. */
#define N 5
#define LEASES 1
#define GAP 0
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef ONE_ASKS_FEW
#define ONE_ASKS_FEW 1
#endif
#include "pawl.pml"
