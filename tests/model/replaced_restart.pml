/* A durable master restarts and keeps its locks, and is replaced, perhaps while it is taken back; its
 * old machine comes back beside the new one. */
#define REPLACEMENTS 1
#include "restart.pml"
