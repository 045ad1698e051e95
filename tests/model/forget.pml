/* Masters forget twice, the same one or two, and rejoin. WIDE: a message arrives twice. */
#define FORGETTINGS 2
#define LEADERS 2
#ifdef WIDE
#define DUPLICATES 1
#endif
#include "pawl.pml"
