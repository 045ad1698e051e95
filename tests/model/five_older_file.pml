/* Five members, one of which is durable and restarts from an older file. Its disk is believed. */
#define N 5
#ifndef LEADERS
#define LEADERS 0
#endif
#include "older_file.pml"
