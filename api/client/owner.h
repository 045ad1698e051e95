/* Forks. Clients, locks and renewers belong to the process that made them. In a child no lock is
 * held: the threads do not exist there, and the descriptors belong to the parent. A message or an
 * event from the child would count as the parent's. */
#ifndef API_CLIENT_OWNER_H
#define API_CLIENT_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* The process that made an object. */
struct client_owner {
    pid_t pid;
    unsigned forks; /* that led to it */
};

struct client_owner client_owner_here(void);

/* Returns false in a child of a fork. Takes no lock. */
bool client_owner_is_here(const struct client_owner *owner);

/* Has each child of a fork lose @fd before its first step, until client_close(). */
void client_own(int fd);

/* -1 is allowed. */
void client_close(int fd);

#endif
