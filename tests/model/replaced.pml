/* An empty machine takes a member's name while the old one is still reachable. WIDE: some master
 * forgets, too. */
#define REPLACEMENTS 1
#define LEADERS 2
#define GAP 0
#ifdef WIDE
#define FORGETTINGS 1
#endif
#include "pawl.pml"
