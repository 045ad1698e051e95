/* Named counters: calls that count and read, while a durable master restarts from an older file. */
#define OLDER_FILES 1
#ifndef LEADERS
#define LEADERS 1
#endif
#ifndef AGAIN
#define AGAIN 0
#endif
#define EXPIRIES 0
#include "call.pml"
