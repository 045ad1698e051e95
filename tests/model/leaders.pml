/* Masters forget twice, and a second leader may overtake the first at any moment. WIDE: counters
 * apart. */
#define FORGETTINGS 2
#define LEADERS 2
#define LEADERS_AT_ONCE 2
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
