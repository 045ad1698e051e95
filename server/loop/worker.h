/* A worker: a loop with its own HTTP server, driver and core, and its own connections to the
 * masters. Workers share the address they listen on and the metrics they show, and nothing else. To
 * the protocol a second worker is a second server. So nothing here is locked, and a process with
 * one worker needs no other thread than its first.
 *
 *     new --> run, on any one thread, until it ends --> free
 *
 * The end of a run:
 *
 *     SERVING --stop--> LEAVING --the lead is over--> DRAINING --idle, or time is up--> ended
 *        '-----------------'-------halt-----------------'-----------------------------> ended
 *
 * A worker that leaves is not ready, and serves all calls. Each connection ends with its next
 * answer. One that drains grants nothing more (503 stopping), and tells the waiters. Holders
 * can still extend and release, over new connections too. It is idle when all calls are answered;
 * open connections without one do not hold it up.
 *
 * A worker whose listeners another process has by now, as it was handed over, lets no client in. It
 * serves the connected clients, and each connection ends with its next answer. It drains when all
 * have gone, or when the time of a drain is over. */
#ifndef SERVER_LOOP_WORKER_H
#define SERVER_LOOP_WORKER_H

#include "fence/protocol/error.h"
#include "server/loop/worker_config.h"

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

struct server_worker;

#define SERVER_TURNS_ENDED UINT64_MAX

/* Makes a worker that serves at its listeners of @config->listeners. Returns 0, or the exit status:
 * the reason is on stderr then. */
FENCE_CHECKED int server_worker_new(const struct server_worker_config *config,
                                    struct server_worker **ret_worker);

/* Serves until it is stopped. Calls that wait then are answered so. May run on its own thread.
 */
void server_worker_run(struct server_worker *worker);

/* Orders to a worker. Any thread, until the worker is freed; more than once is fine. */
void server_worker_stop(struct server_worker *worker);      /* to end, as above */
void server_worker_hand_over(struct server_worker *worker); /* the same, handed over */
void server_worker_halt(struct server_worker *worker);      /* to end at once */
void server_worker_reload(struct server_worker *worker);    /* to call config.reloaded */
void server_worker_look(struct server_worker *worker); /* at config.others, which became fewer */

/* Has the masters use @password (copied) from now on, where a file told them theirs, and logs which
 * of them refuse it. On the thread of the worker: config.reloaded may call it. */
void server_worker_password(struct server_worker *worker, const char *password);

/* The loop must hold no handle of others' that is not being closed. NULL is fine. Not while it
 * runs. */
void server_worker_free(struct server_worker *worker);

/* Reports whether a majority of the masters votes, as it sees them. Any thread. */
bool server_worker_ready(const struct server_worker *worker);

/* How often its loop has turned; SERVER_TURNS_ENDED once its run has ended. Any thread. */
uint64_t server_worker_turns(const struct server_worker *worker);

/* The loop, for what belongs to the process and not to a worker. */
uv_loop_t *server_worker_loop(struct server_worker *worker);

#endif
