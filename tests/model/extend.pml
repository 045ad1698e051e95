/* Clocks are trusted. A holder extends its lease, while masters forget twice and are taken back.
 * WIDE: counters apart. */
#define LEASES 1
#define EXTENSIONS 1
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
