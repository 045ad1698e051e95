/* A worker: a loop with its own HTTP server, driver and core, and its own connections to the
 * masters. Workers share their listening addresses and their metrics, and nothing else. To the
 * protocol a second worker is a second server. So a worker needs no mutex, and a process with one
 * worker needs only its first thread.
 *
 *     new --> run, on any one thread, until it ends --> free
 *
 * The end of a run:
 *
 *     SERVING --stop--> LEAVING --the lead is over--> DRAINING --idle, or time is up--> ended
 *        '-----------------'-------halt-----------------'-----------------------------> ended
 *
 * A worker that is LEAVING is not ready, but serves all calls. Each connection ends with its next
 * answer. A worker that is DRAINING grants nothing more (503 stopping), and answers the waiters so.
 * Holders can still extend and release, even over new connections. The worker is idle when all
 * calls are answered; it does not wait for open connections without a call.
 *
 * After a handover another process has the listeners, and this worker accepts no client. It serves
 * the connected clients, and each connection ends with its next answer. It drains when all clients
 * have disconnected, or when the time of a drain is over. */
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

/* Serves until the worker is stopped. Calls that wait at that time are answered 503 stopping. May
 * run on any one thread. */
void server_worker_run(struct server_worker *worker);

/* Orders to a worker. Any thread, until the worker is freed; more than once is fine. */
void server_worker_stop(struct server_worker *worker);      /* to end, as above */
void server_worker_hand_over(struct server_worker *worker); /* to end, after a handover */
void server_worker_halt(struct server_worker *worker);      /* to end at once */
void server_worker_reload(struct server_worker *worker);    /* to call config.reloaded */
void server_worker_look(struct server_worker *worker);      /* to look at config.others, which has
                                                             * decreased */

/* Has the masters use @password (copied) from now on, if their password is from a file. Logs which
 * masters refuse it. Runs on the worker's thread: config.reloaded may call it. */
void server_worker_password(struct server_worker *worker, const char *password);

/* Frees the worker, which must not be running. Any handle of other code in its loop must be
 * closing. NULL is fine. */
void server_worker_free(struct server_worker *worker);

/* Reports whether a majority of the masters votes, as this worker sees them. Any thread. */
bool server_worker_ready(const struct server_worker *worker);

/* Returns how often the loop has turned; SERVER_TURNS_ENDED once the run has ended. Any thread. */
uint64_t server_worker_turns(const struct server_worker *worker);

/* Returns the loop, for handles that belong to the process and not to a worker. */
uv_loop_t *server_worker_loop(struct server_worker *worker);

#endif
