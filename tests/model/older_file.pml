/* A durable master restarts from an older file. Two leaders take it back, or its disk is believed.
 * WIDE: some master forgets, too. */
#ifndef OLDER_FILES
#define OLDER_FILES 1
#endif
#ifndef LEADERS
#define LEADERS 2
#endif
#if LEADERS > 1
#define LEADERS_AT_ONCE 2
#endif
#ifndef GAP
#define GAP 0
#endif
#ifdef WIDE
#define FORGETTINGS 1
#endif
#include "pawl.pml"
