/* A durable master of five restarts. Two leaders take it back, or its disk is trusted. No lock
 * expires. */
#define N 5
#define EXPIRIES 0
#include "restart.pml"
