/* Clocks are trusted: a holder extends its lease, while masters forget twice, the same one or two, and
 * are taken back. WIDE: counters apart. */
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
