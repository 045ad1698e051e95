/* Named counters of five members, without failures. */
#define N 5
#define EXPIRIES 0
#define AGAIN 0
#include "call.pml"
