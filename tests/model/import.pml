/* No lock expires. Masters forget twice and import the locks of the others, so two clients never
 * hold the lock at once. WIDE: counters apart. */
#ifndef FORGETTINGS
#define FORGETTINGS 2
#endif
#ifndef LEADERS
#define LEADERS 2
#endif
#define EXPIRIES 0
#define CLEANUPS 1
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
