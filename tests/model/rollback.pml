/* A master goes back to an older state of its own, and two leaders take it back. WIDE: counters
 * apart. */
#define ROLLBACKS 1
#ifndef LEADERS
#define LEADERS 2
#endif
#if LEADERS > 1
#define LEADERS_AT_ONCE 2
#endif
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
