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
    size_t len; /* 0: the page is empty */
};

enum fence_rejoin_step {
    FENCE_REJOIN_MARK,    /* to the member: become joining under @incarnation, if the marker is
                           * still as in @seen */
    FENCE_REJOIN_CLEAR,   /* to the member: remove some of its locks, from @cursor on */
    FENCE_REJOIN_RECORD,  /* to other masters: record the member's incarnation from @view. To
                           * ASK: the same with the current view, which records nothing */
    FENCE_REJOIN_READ,    /* to other masters: answer a page of @part, from @cursor on */
    FENCE_REJOIN_INSTALL, /* to the member: merge @page, which master @source wrote. An empty
                           * page only shows that the leader is alive */
    FENCE_REJOIN_ADMIT,   /* to the member: become active under @incarnation */
    FENCE_REJOIN_SURVEY,  /* to the member: answer the highest number of all its counters */
    FENCE_REJOIN_LEASES,  /* to the member: answer how long some of its locks last, from @cursor
                           * on */
    FENCE_REJOIN_CLOSE,   /* to the member: leave its fleet. The fleet has moved, and issued no
                           * token above @floor. A file is closed in another way, and refuses this
                           * and LEASES */
};

/* The reason for a MARK. */
enum fence_mark {
    FENCE_MARK_REJOIN, /* a server admits the member again */
    FENCE_MARK_NEW,    /* a bootstrap of a fleet that never issued a token */
    FENCE_MARK_FLOOR,  /* a bootstrap of a fleet that issued tokens before */
};

/* The parts that a master is asked for, in this order. */
enum fence_rejoin_part {
    FENCE_REJOIN_COUNTERS,
    FENCE_REJOIN_LOCKS,
    FENCE_REJOIN_PARTS,
};

/* The borrowed memory must live until the caller has acted on the effects. */
struct fence_rejoin_request {
    enum fence_rejoin_step step;
    uint64_t tag;         /* the reply returns it */
    unsigned member;      /* index of the master that rejoins */
    int64_t incarnation;  /* the incarnation that the member is to get. MARK writes it. CLEAR,
                           * INSTALL, ADMIT, SURVEY, LEASES and CLOSE do nothing if the member
                           * has another one; READ does nothing if the master has recorded
                           * another one */
    const char *fleet_id; /* MARK, RECORD, READ: the member's fleet. CLOSE: the fleet that
                           * follows */
    uint32_t ttl_max_ms;
    uint32_t readers;               /* MARK; 0: the marker names none */
    uint32_t extensions_max;        /* MARK; 0: the marker names none */
    const struct fence_facts *seen; /* MARK: the facts on which the leader judged the member */
    bool keeps;                     /* MARK: the member seems to have kept all its data. SURVEY:
                                     * does nothing unless the member did, and still does */
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
    FENCE_REJOIN_CHANGED, /* nothing was done: the marker, incarnation or view is not the one in
                           * the request */
    FENCE_REJOIN_LOST,    /* outcome unknown: the connection ended */
    FENCE_REJOIN_REFUSED, /* outcome unknown: the server answered with an error */
};

struct fence_rejoin_reply {
    enum fence_rejoin_outcome outcome;
    uint64_t tag;
    uint64_t cursor;               /* CLEAR, READ, LEASES, DONE: where the next step begins; 0:
                                    * this was the last */
    struct fence_page page;        /* READ, DONE: borrowed until the caller has acted on the
                                    * effects */
    const struct fence_view *view; /* RECORD, CHANGED: the view of that master; may be NULL */
    int64_t highest;               /* SURVEY, DONE */
    int64_t writes;                /* RECORD, DONE: the position of that master after the request */
    uint32_t left_ms;              /* LEASES, DONE: time until the last of these leases has
                                    * expired */
};

#endif
