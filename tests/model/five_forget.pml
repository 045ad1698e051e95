/* Five members, one of which forgets and rejoins; one lock expires. WIDE: counters apart. */
#define N 5
#ifndef FORGETTINGS
#define FORGETTINGS 1
#endif
#define LEADERS 1
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
