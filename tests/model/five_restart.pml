/* A durable master of five restarts: two leaders take it back, or it is trusted meanwhile. No lock
 * expires. */
#define N 5
#define EXPIRIES 0
#include "restart.pml"
