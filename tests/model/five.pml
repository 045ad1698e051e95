/* Five members: acquire and confirm. */
#define N 5
#include "pawl.pml"
