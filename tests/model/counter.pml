/* Named counters: calls that count and read, of which one may try again. A master forgets and is
 * taken back. */
#ifndef FORGETTINGS
#define FORGETTINGS 1
#endif
#ifndef LEADERS
#define LEADERS FORGETTINGS
#endif
#define EXPIRIES 0
#include "call.pml"
