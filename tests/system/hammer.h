/* Many clients, each a thread with its own connections, that fight for a few locks: a client that
 * is granted one claims its account at the ledger, adds 1 to the balance, and releases. Some sleep
 * through their lease between reading and writing. All that was granted is kept. */
#ifndef TESTS_SYSTEM_HAMMER_H
#define TESTS_SYSTEM_HAMMER_H

#include <stddef.h>
#include <stdint.h>

enum {
    HAMMER_CLIENTS = 200,
    HAMMER_NAMES = 5,
    HAMMER_PATH_MAX = 64,
};

/* One grant, as its holder saw it. Times are microseconds of the boot clock. */
struct hammer_grant {
    unsigned name;
    int64_t token;
    uint64_t asked_us;     /* before the request was sent */
    uint64_t answered_us;  /* after the answer was read */
    uint64_t held_till_us; /* the end of its validity, or when its release was sent */
};

struct hammer_result {
    struct hammer_grant *grants; /* in no order */
    size_t count;
    unsigned refused;     /* acquires: 409 */
    unsigned unavailable; /* acquires: 503 */
    unsigned stale;       /* claims and writes: 412 */
    unsigned written[HAMMER_NAMES];
};

struct hammer_config {
    uint16_t pawld[2]; /* the clients spread over both */
    uint16_t ledger;
    unsigned sleepers_percent; /* share of the grants */
};

struct hammer;

/* Starts the clients. An answer that no client may get ends the whole program. */
struct hammer *hammer_start(const struct hammer_config *config);

/* Has all clients go on at the service on @port, each once its call is answered. */
void hammer_go_to(struct hammer *hammer, uint16_t port);

/* Waits until all are there: none has a call under way at another service, or has to release there.
 */
void hammer_wait_there(struct hammer *hammer);

/* Lets every client finish what it does, and frees @hammer. The result is given back with
 * hammer_result_fini(). */
void hammer_stop(struct hammer *hammer, struct hammer_result *ret_result);
void hammer_result_fini(struct hammer_result *result);

/* The path of account @name at the ledger ("/v1/accounts/..."). */
void hammer_account_path(unsigned name, char ret_path[static HAMMER_PATH_MAX]);

#endif
