/* A new pawld replaces a running one without a refused connection: the old pawld passes the
 * listening sockets themselves, so no queue of the kernel is ever closed. Both know the path of a
 * socket (--hand-over), and exchange these messages over it:
 *
 *     new                          old
 *      |  pawld 1 take          -->  |
 *      |  <--  pawld 1 COUNT MS      |   how many listeners follow, and its longest time to end
 *      |  <--  door ...              |   COUNT times: a listener with its sockets
 *      |  leave                 -->  |   the old pawld accepts no more clients, and ends
 *      |  <--  the end of the connection, when the old pawld has ended
 *
 * With Redis masters the new pawld serves before it sends "leave": both may serve at once. A file
 * can be open in one process only. So with a file the new pawld sends "leave" first, and opens the
 * file when the old pawld has ended. Meanwhile clients wait in the queues of the sockets.
 *
 * If the new pawld ends before it sends "leave", nothing has changed. It sends "leave" only when it
 * is ready, and otherwise ends after PAWLD_READY_MS.
 *
 * Why not two processes that listen side by side (SO_REUSEPORT): each has a separate queue. When a
 * socket is closed, the kernel resets the connections in its queue, or on their way into it. Since
 * Linux 5.14 it can move them, if net.ipv4.tcp_migrate_req is set; by default it is not. */
#ifndef SERVER_PAWLD_HANDOVER_H
#define SERVER_PAWLD_HANDOVER_H

#define PAWLD_HANDOVER_TAKE  "pawld 1 take"
#define PAWLD_HANDOVER_GIVE  "pawld 1" /* and two numbers */
#define PAWLD_HANDOVER_LEAVE "leave"

/* TLS; metrics only; kept by a service manager; a file, with its device and inode; its name. */
#define PAWLD_HANDOVER_LISTENER "door"

#endif
