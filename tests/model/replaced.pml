/* An empty machine takes a member's name while the old one is still reachable, and some master
 * forgets. WIDE: counters apart. */
#define REPLACEMENTS 1
#define FORGETTINGS 1
#define LEADERS 2
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
