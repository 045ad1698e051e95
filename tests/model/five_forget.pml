/* Five members, one of which forgets and rejoins; only so many locks expire. */
#define N 5
#define FORGETTINGS 1
#define LEADERS 1
#ifdef WIDE
#define EXPIRIES 2
#else
#define EXPIRIES 1
#define GAP 0
#endif
#include "pawl.pml"
