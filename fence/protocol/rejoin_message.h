/* Messages to and from a master while it rejoins (fence/rejoin/rejoin_state.h), or becomes a member
 * of a fleet (fence/bootstrap/bootstrap.h). */
#ifndef FENCE_PROTOCOL_REJOIN_MESSAGE_H
#define FENCE_PROTOCOL_REJOIN_MESSAGE_H

#include "fence/protocol/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fence_facts;
struct fence_predecessors;

/* Some counters or locks of one master, as it wrote them. Only masters know the form of @bytes. */
struct fence_page {
    const char *bytes;
    size_t len; /* 0: there was nothing to tell */
};

enum fence_rejoin_step {
    FENCE_REJOIN_MARK,    /* to the member: be joining under @incarnation, if its marker is as in
                           * @seen */
    FENCE_REJOIN_CLEAR,   /* to the member: remove some of its locks, from @cursor on */
    FENCE_REJOIN_RECORD,  /* to others: know the incarnation of the member that is in @view. To ASK:
                           * the same with the view as it is, which records nothing */
    FENCE_REJOIN_READ,    /* to others: answer a page of @part, from @cursor on */
    FENCE_REJOIN_INSTALL, /* to the member: merge @page, which master @source wrote. An empty page
                           * only shows that the leader lives */
    FENCE_REJOIN_ADMIT,   /* to the member: be active under @incarnation */
    FENCE_REJOIN_SURVEY,  /* to the member: tell the highest number that any of its counters has */
    FENCE_REJOIN_LEASES,  /* to the member: tell how long some of its locks last, from @cursor on */
    FENCE_REJOIN_CLOSE, /* to the member: be of no fleet any more. Its fleet is moved, and gave out
                         * no token above @floor. A file is closed otherwise, and refuses
                         * this and LEASES */
};

/* On whose behalf MARK is sent. */
enum fence_mark {
    FENCE_MARK_REJOIN, /* a server takes the member back */
    FENCE_MARK_NEW,    /* a bootstrap of a fleet that never issued a token */
    FENCE_MARK_FLOOR,  /* a bootstrap of a fleet that did */
};

/* The questions to a master, in this order. */
enum fence_rejoin_part {
    FENCE_REJOIN_COUNTERS,
    FENCE_REJOIN_LOCKS,
    FENCE_REJOIN_PARTS,
};

/* Borrowed memory lives until the effects were acted on. */
struct fence_rejoin_request {
    enum fence_rejoin_step step;
    uint64_t tag;         /* comes back in the reply */
    unsigned member;      /* index of the master that rejoins */
    int64_t incarnation;  /* that the member is to get. MARK writes it; CLEAR, INSTALL, ADMIT,
                           * SURVEY,  LEASES and CLOSE do nothing where they find another; READ where
                           * another is  recorded */
    const char *fleet_id; /* MARK, RECORD, READ: the member's. CLOSE: the fleet that follows */
    uint32_t ttl_max_ms;
    uint32_t readers;               /* MARK: 0: none is named */
    uint32_t extensions_max;        /* MARK: 0: none is named */
    const struct fence_facts *seen; /* MARK: the facts it was judged by, */
    bool keeps;                     /* and whether it seems to have kept all it knew. SURVEY: it
                                     * does nothing unless it did, and still does */
    enum fence_mark mark;           /* MARK */
    /* MARK: to be known there, with those that the member already knows; NULL: no more. A file
     * has none: no fleet is moved to a file. */
    const struct fence_predecessors *predecessors;
    int64_t floor;                 /* ADMIT, CLOSE: of all its counters; 0: none */
    uint32_t steps;                /* CLEAR, INSTALL, ADMIT: how many of CLEAR and INSTALL come
                                    * before it since the mark. It is done after exactly these */
    uint64_t cursor;               /* CLEAR, READ, LEASES: 0 at first, then what the reply said */
    enum fence_rejoin_part part;   /* READ */
    unsigned source;               /* INSTALL: index of the master that wrote the page */
    const struct fence_page *page; /* INSTALL */
    const struct fence_view *view; /* MARK: to be known there. RECORD: under which, the member's
                                    * new incarnation in it. READ: in which the master's own
                                    * incarnation stands. ADMIT: to be known there */
};

enum fence_rejoin_outcome {
    FENCE_REJOIN_DONE,
    FENCE_REJOIN_CHANGED, /* nothing was done: another marker, incarnation or view than named */
    FENCE_REJOIN_LOST,    /* outcome unknown: the connection ended */
    FENCE_REJOIN_REFUSED, /* outcome unknown: an error of the server, which is there */
};

struct fence_rejoin_reply {
    enum fence_rejoin_outcome outcome;
    uint64_t tag;
    uint64_t cursor;               /* CLEAR, READ, LEASES, DONE: where to go on; 0: that was all */
    struct fence_page page;        /* READ, DONE: borrowed until the effects were acted on */
    const struct fence_view *view; /* RECORD, CHANGED: what that master knows; may be NULL */
    int64_t highest;               /* SURVEY, DONE */
    int64_t writes;                /* RECORD, DONE: the position of that master after it */
    uint32_t left_ms;              /* LEASES, DONE: until the last of these leases has run out */
};

#endif
