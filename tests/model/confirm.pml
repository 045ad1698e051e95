/* Acquire and confirm, while a message arrives twice. WIDE: three attempts instead of two. */
#define DUPLICATES 1
#ifdef WIDE
#define ATTEMPTS 3
#define GAP 0
#else
#define GAP 2
#endif
#include "pawl.pml"
