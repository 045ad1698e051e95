/* A master loses what it had not saved, and two leaders take it back. WIDE: counters apart. */
#define TAIL_LOSSES 1
#define LEADERS 2
#define LEADERS_AT_ONCE 2
#ifndef WIDE
#define GAP 0
#endif
#include "pawl.pml"
