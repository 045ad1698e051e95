/* The jobs of a master for its store, and what comes back: between the loop's thread and the
 * store's. A job belongs to the one or to the other, never to both. */
#ifndef STORAGE_SQLITE_STORE_JOB_H
#define STORAGE_SQLITE_STORE_JOB_H

#include "fence/fleet/fleet.h"
#include "fence/master/requests.h"
#include "fence/protocol/listing_message.h"
#include "fence/protocol/rejoin_message.h"
#include "storage/master.h"
#include "storage/sqlite/state.h"

enum {
    STORAGE_JOB_WHY_MAX = 256,
};

/* The locks of a group, and their numbers. */
struct storage_group {
    struct fence_group group;
    int64_t numbers[FENCE_GROUP_MAX];
};

/* A request with the memory that it borrows, and its answer. */
struct storage_entry {
    struct fence_request request; /* its pointers are set when the request is done */
    struct storage_group *group;  /* malloc'd; NULL: one lock */
    char resource[FENCE_RESOURCE_MAX + 1];
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    unsigned locks; /* number of locks in the request */
    bool unmade;    /* there was no memory for its group */
    struct fence_master_answer answer;
};

enum storage_job_kind {
    STORAGE_JOB_REQUESTS, /* requests, all under one view */
    STORAGE_JOB_REJOIN,
    STORAGE_JOB_RESTAMP, /* restamps, and then reads as FACTS */
    STORAGE_JOB_FACTS,
    STORAGE_JOB_NAMES,
    STORAGE_JOB_HOLDERS,
};

struct storage_sqlite_master;

struct storage_job {
    enum storage_job_kind kind;
    struct storage_sqlite_master *master;
    void (*done)(struct storage_job *job); /* called on the store's thread when the job is done:
                                            * the loop owns the job again */
    struct storage_job *next;
    unsigned epoch; /* epoch of the master when the job was sent: requests of an earlier connection
                     * are lost */
    bool failed;    /* the turn was rolled back; @why has the reason */
    enum fence_refusal refusal; /* REQUESTS, REJOIN: why nothing was done */
    char why[STORAGE_JOB_WHY_MAX];

    /* REQUESTS. */
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    struct fence_view view; /* the view in the requests; if it is stale, the known view */
    uint64_t generation;
    unsigned count;
    unsigned room;
    struct storage_entry *entries;

    /* REJOIN: the pointers of @request lead to the members below. */
    struct fence_rejoin_request request;
    struct fence_rejoin_reply reply;
    struct fence_view known; /* the view that the reply may point to */
    char *page;              /* a page that was read: sqlite3_free(); a page to install: free() */
    size_t page_len;         /* of a page to install */

    /* REJOIN: the facts of a mark. RESTAMP: the facts as seen. FACTS, RESTAMP: the result. */
    struct fence_facts facts;
    bool probes; /* FACTS: no handshake */
    uint64_t sent_ns;

    /* NAMES, HOLDERS. */
    enum fence_listing_kind listed;
    storage_found_fn *told;
    void *context;
    uint64_t cursor; /* the start, then the start of the next step */
    char prefix[FENCE_RESOURCE_MAX + 1];
    unsigned keys;
    struct fence_lock_name *names; /* malloc'd */
    size_t names_count;
    size_t names_room;
    const char **list; /* malloc'd; NAMES: of these */
    bool no_room;      /* NAMES: there was no memory for all of them */
    uint64_t *holders; /* malloc'd; HOLDERS */
};

/* A job of @kind, zeroed; NULL: no memory. */
struct storage_job *storage_job_new(struct storage_sqlite_master *master,
                                    enum storage_job_kind kind);

/* Makes a job for requests: with room for all that a master may owe. */
struct storage_job *storage_job_new_requests(struct storage_sqlite_master *master);

/* Adds a copy of @request, for which there is room. */
void storage_job_add(struct storage_job *job, const struct fence_request *request);

/* A rejoin step with copies of what @request borrows; NULL: no memory. */
struct storage_job *storage_job_new_rejoin(struct storage_sqlite_master *master,
                                           const struct fence_rejoin_request *request);

/* Questions of a listing (storage/master.h); NULL: no memory. */
struct storage_job *storage_job_new_names(struct storage_sqlite_master *master,
                                          const struct fence_scan *scan);
struct storage_job *storage_job_new_holders(struct storage_sqlite_master *master,
                                            enum fence_listing_kind kind,
                                            const struct fence_lock_name *names, size_t count);

/* Returns the result of such a job, which lives as long as the job. */
void storage_job_tell_found(struct storage_job *job, struct fence_found *ret_found);

/* Makes a job of requests empty again. */
void storage_job_empty(struct storage_job *job);

/* NULL is fine. */
void storage_job_free(struct storage_job *job);

/* Does the job within the turn of @state; the store's thread. */
void storage_job_do(struct storage_job *job, struct storage_state *state);

#endif
