/* A durable master restarts and keeps its locks, and a member is replaced while its old machine lives
 * on. No lock expires. */
#define EXPIRIES 0
#define REPLACEMENTS 1
#include "restart.pml"
