/* A durable master restarts with its data. Two leaders take it back by import, or its disk is
 * trusted. WIDE: some master forgets, too. */
#define RESTARTS 1
#define LEADERS 2
#define LEADERS_AT_ONCE 2
#define GAP 0
#ifdef WIDE
#define FORGETTINGS 1
#endif
#include "pawl.pml"
