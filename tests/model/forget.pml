/* Masters forget twice, the same one or two, and rejoin. */
#define FORGETTINGS 2
#define LEADERS 2
#include "pawl.pml"
