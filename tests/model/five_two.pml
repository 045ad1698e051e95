/* Five members, two of which forget and rejoin, one after the other or both at once. But for what
 * they forget, no lock is lost. */
#define N 5
#define FORGETTINGS 2
#define LEADERS 2
#define EXPIRIES 0
#define GAP 0
#include "pawl.pml"
