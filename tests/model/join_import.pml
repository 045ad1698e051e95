/* A holder extends and joins masters, while a master forgets and imports the locks of the others. */
#define LEASES 1
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef SURPLUS
#define SURPLUS 1
#endif
#ifndef FORGETTINGS
#define FORGETTINGS 1
#endif
#ifndef LEADERS
#define LEADERS 1
#endif
#define GAP 0
#include "pawl.pml"
