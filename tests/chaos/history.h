/* The history of calls that clients wrote down, and what must hold of it. Pure but for reading the
 * files: no clock, no process.
 *
 * A line is one call that got an answer, or timed out waiting for one (or the word that one will be
 * made):
 *
 *     acquire 3 17 5 retry 1 0 1200 1450 201 34 901200
 *
 * (name, client, turn, ask, names, held by, sent, answered, status, token, till). A call for
 * several names is a line for each of them. Times are microseconds of the boot clock, which all
 * processes of a machine share.
 *
 * A lock is what one client in one of its turns wants of one name: there is one lock id to it, so
 * that it is the same lock, and the same holder, however often it is asked for and granted. */
#ifndef TESTS_CHAOS_HISTORY_H
#define TESTS_CHAOS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    HISTORY_NAMES_MAX = 256,
    HISTORY_LINE_MAX = 192,
};

enum history_kind {
    HISTORY_ACQUIRE,
    HISTORY_EXTEND,
    HISTORY_LEAVE, /* written before a release is sent: who is killed over it holds no more */
    HISTORY_RELEASE,
    HISTORY_CLAIM, /* at the ledger, as is */
    HISTORY_WRITE,
    HISTORY_COUNT, /* for a named counter: @name is which, @names how many values, 0 to read, and
                    * @token the last of them */
    HISTORY_KINDS,
};

/* How a lock was asked for. */
enum history_ask {
    HISTORY_PLAIN, /* the service makes the lock id; and all that is no acquire */
    HISTORY_OWN,   /* with a lock id of the client's own, for the first time */
    HISTORY_RETRY, /* with it once more, since no answer said what became of it */
    HISTORY_TOLD,  /* with it once more, though an answer had granted it */
    HISTORY_ASKS,
};

/* The holder that a refusal names. */
enum history_held_by {
    HISTORY_BY_OTHER, /* and all that is no such refusal */
    HISTORY_BY_ITSELF,
    HISTORY_BY_NOBODY, /* a tombstone may be in the way */
    HISTORY_HELD_BY,
};

struct history_call {
    enum history_kind kind;
    unsigned name;
    unsigned client;
    unsigned turn; /* turn of that client */
    enum history_ask ask;
    unsigned names;               /* ACQUIRE: how many were asked for at once */
    enum history_held_by held_by; /* ACQUIRE refused as held */
    uint64_t sent_us;             /* before the first byte was sent */
    uint64_t answered_us;         /* after the last was read, or when the client timed out */
    int status;                   /* 0: no answer */
    int64_t token;                /* token of the grant; 0: none */
    uint64_t till_us; /* ACQUIRE, EXTEND granted: the end of the lease, as the holder reckons */
};

struct history {
    struct history_call *calls;
    size_t count;
    size_t size;
};

/* Between two moments of the boot clock. */
struct history_window {
    uint64_t from_us;
    uint64_t till_us;
};

/* Facts beyond the history alone. */
struct history_times {
    const struct history_window *clocks; /* when a clock was touched */
    size_t clocks_count;
    const struct history_window *tombstones; /* when a majority of masters may have had some */
    size_t tombstones_count;
};

/* The log of the guarded resource, in the order in which it happened there. */
struct history_entry {
    unsigned name;
    int64_t token;
    int64_t balance; /* WRITE */
    int64_t version; /* WRITE: 1 for the first; CLAIM: 0 */
};

struct history_findings {
    size_t twice;        /* P1: tokens granted twice */
    size_t disorder;     /* P1: grants with a token no higher than one that was answered before */
    size_t overlaps;     /* P2: holders beside another */
    size_t shut_out;     /* retries that were refused for the sake of the lock that it has */
    size_t fell;         /* P4: claims or writes accepted after a higher token */
    size_t values_twice; /* values of a counter given twice */
    size_t values_fell;  /* counters that told less than before */
    size_t leases;       /* that P2 was looked at for: those without a touched clock */
    FILE *told;          /* the file with a line for each, up to so many; NULL: nowhere */
};

/* Writes @call as one line into @ret_line. */
void history_format(const struct history_call *call, char ret_line[static HISTORY_LINE_MAX]);

/* Adds what the file @path holds. A last line cut short by the death of its writer is left out;
 * any other that cannot be read is counted and returned. */
size_t history_read(struct history *history, const char *path);

void history_add(struct history *history, const struct history_call *call);
void history_fini(struct history *history);

/* True if @call gave a lock, also by an extension that was answered with a grant again; and if its
 * client had not been told before that it has it. */
bool history_is_grant(const struct history_call *call);
bool history_is_new_grant(const struct history_call *call);

/* P1: tokens of different locks of a name are distinct, and what was answered before another
 * grant was sent for has the lower one. A lock that is granted once more may keep its token, or get
 * a higher one. */
void history_check_order(const struct history *history, struct history_findings *findings);

/* P2: no client knew to hold a name while another did: from an answer on, to the end of that lease
 * or until it left. A retry takes nothing from a lease. Leases that lived while a clock was touched
 * (in one of @count @windows) are left out, on both sides; a lock lives from when it was asked for
 * first, as an answer that was lost may have granted it. */
void history_check_exclusion(const struct history *history, const struct history_window *windows,
                             size_t count, struct history_findings *findings);

/* No caller is refused for the sake of the lock that it has: that is what the client's own lock ids
 * are for. Clients that were told so a moment ago, and now hear that the lock is held, but of no
 * other holder, is. A refusal that names no caller is left out while tombstones may stand at a
 * majority. */
void history_check_asking(const struct history *history, const struct history_times *times,
                          struct history_findings *findings);

/* The values that calls of a named counter took are distinct. Values that were told before another
 * call was sent are below what that call took. A reading is told no less. */
void history_check_counters(const struct history *history, struct history_findings *findings);

/* P4: at the resource, accepted tokens never fall. Without a guard they may. */
void history_check_fencing(const struct history_entry *entries, size_t count,
                           struct history_findings *findings);

/* How many of the writes that were accepted the balances do not show: each adds 1 to what its
 * writer read. Writes that balances show and entries do not count as well. */
size_t history_lost_updates(const struct history_entry *entries, size_t count);

/* The count of findings, without @leases. */
size_t history_violations(const struct history_findings *findings);

#endif
