/* Masters forget twice, the same one or two, and are taken back. WIDE: counters apart. */
#ifndef FORGETTINGS
#define FORGETTINGS 2
#endif
#ifndef LEADERS
#define LEADERS 2
#endif
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
