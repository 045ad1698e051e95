/* Five members, one of which forgets and rejoins; only one lock expires. WIDE: counters apart. */
#define N 5
#ifndef FORGETTINGS
#define FORGETTINGS 1
#endif
#define LEADERS 1
#define EXPIRIES 1
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
