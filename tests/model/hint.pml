/* An attempt asks a majority first and hedges to the others when it likes. Step 1 names any number
 * as a hint, up to 2. A master forgets and is taken back. */
#define HEDGES 1
#ifndef SURPLUS
#define SURPLUS 1
#endif
#ifndef HINTS
#define HINTS 2
#endif
#ifndef FORGETTINGS
#define FORGETTINGS 1
#endif
#ifndef LEADERS
#define LEADERS 1
#endif
#define GAP 0
#include "pawl.pml"
