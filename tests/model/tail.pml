/* A master loses what it had not saved, and two leaders take it back. WIDE: a message arrives
 * twice. */
#define TAIL_LOSSES 1
#define LEADERS 2
#define LEADERS_AT_ONCE 2
#ifdef WIDE
#define DUPLICATES 1
#endif
#include "pawl.pml"
