/* A new pawld takes the place of a running one, and no connection is refused: it is passed the
 * listening sockets themselves, so no queue of the kernel is ever closed. Both know the path of a
 * socket (--hand-over), and say over it:
 *
 *     new                          old
 *      |  pawld 1 take          -->  |
 *      |  <--  pawld 1 COUNT MS      |   how many listeners follow, and its longest time to end
 *      |  <--  door ...              |   COUNT times: a listener with its sockets
 *      |  leave                 -->  |   the old one lets no client in any more, and ends
 *      |  <--  the end of the connection, when the old one has ended
 *
 * With masters of Redis the new one serves before it says "leave": both may serve at once. A file
 * is open in one process only. So there the new one says "leave" first, and opens the file when the
 * old one has ended. Clients wait in the queues of the sockets meanwhile.
 *
 * A new one that ends before it said "leave" has changed nothing. It says so only when it is ready,
 * and otherwise ends after PAWLD_READY_MS.
 *
 * Why not two processes that listen side by side (SO_REUSEPORT): each has its own queue, and
 * the kernel resets what is in the queue of a socket that is closed, or on its way into it. Since
 * Linux 5.14 it can move them, where net.ipv4.tcp_migrate_req is set; it is not by default. */
#ifndef SERVER_PAWLD_HANDOVER_H
#define SERVER_PAWLD_HANDOVER_H

#define PAWLD_HANDOVER_TAKE  "pawld 1 take"
#define PAWLD_HANDOVER_GIVE  "pawld 1" /* and two numbers */
#define PAWLD_HANDOVER_LEAVE "leave"

/* TLS; metrics only; kept by a service manager; a file, with its device and inode; its name. */
#define PAWLD_HANDOVER_LISTENER "door"

#endif
