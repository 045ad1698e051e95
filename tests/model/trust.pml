/* Two durable masters restart, or one does twice, so that others may see no majority. */
#define RESTARTS 2
#define LEADERS 2
#define LEADERS_AT_ONCE 2
#define GAP 0
#include "pawl.pml"
