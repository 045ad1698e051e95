/* Future events, soonest first. Events of one instant come in the order in which they were
 * first scheduled, also when they were put off meanwhile: so a queue that was held up stays a
 * queue. */
#ifndef TESTS_SIM_WORLD_HEAP_H
#define TESTS_SIM_WORLD_HEAP_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_HEAP_MAX = 8192, /* events to come at any time */
};

enum sim_event_kind {
    /* at a server */
    SIM_EVENT_CALL,         /* call @id arrives */
    SIM_EVENT_LEFT,         /* the client of call @id is noticed to have gone */
    SIM_EVENT_FREED,        /* word comes that lock @generation of resource @id was released */
    SIM_EVENT_REPLY,        /* the reply to message @id arrives from @master */
    SIM_EVENT_TICK,         /* the core's deadline */
    SIM_EVENT_LISTING_TICK, /* the deadline of a page of a listing */
    SIM_EVENT_CONNECT,      /* the backoff towards @master is over */
    SIM_EVENT_DOWN,         /* the end of the connection to @master is noticed */
    SIM_EVENT_CLOSED,       /* the connection to @master was closed by the server itself */
    SIM_EVENT_LOOK,         /* the next probe of @master is due */
    /* at a master */
    SIM_EVENT_REQUEST, /* message @id arrives */
    /* at a client */
    SIM_EVENT_ANSWER, /* the answer to call @id arrives at @client */
    SIM_EVENT_CLIENT, /* @client goes on, if its turn is still @id */
    SIM_EVENT_LIST,   /* the next page of a listing is asked for */
    /* in the world */
    SIM_EVENT_FAULT,        /* something may break */
    SIM_EVENT_MEND,         /* the settings of machine @id are put right */
    SIM_EVENT_DISASTER,     /* the event that this world is about happens */
    SIM_EVENT_HEAL,         /* nothing breaks any more */
    SIM_EVENT_OPERATOR,     /* looks what is still wrong */
    SIM_EVENT_BOOTSTRAP,    /* something happens to a run of pawld init */
    SIM_EVENT_NUDGE,        /* somebody asks @server something, so that it looks at its masters */
    SIM_EVENT_PROBE,        /* the lock of resource @id must be free now: take it */
    SIM_EVENT_PROBE_AGAIN,  /* and take it again */
    SIM_EVENT_PROBE_GROUPS, /* several are taken together */
    SIM_EVENT_MAINTAIN,     /* a lock is kept by extension, while masters are replaced */
    SIM_EVENT_FINISH,       /* everything must be answered now */
};

struct sim_event {
    uint64_t at_us;
    uint32_t order;
    uint32_t id;
    uint32_t generation; /* generation of the connection it belongs to */
    uint8_t kind;
    uint8_t server;
    uint8_t master;
    uint8_t client;
};

struct sim_heap {
    uint32_t count;
    uint32_t scheduled; /* events ever scheduled: the next one's order */
    struct sim_event items[SIM_HEAP_MAX];
};

void sim_heap_init(struct sim_heap *heap);

/* Schedules a copy of @event; its order is given here. */
void sim_heap_push(struct sim_heap *heap, const struct sim_event *event);

/* Puts @event, just popped, off until @at_us; it keeps its order. */
void sim_heap_put_off(struct sim_heap *heap, const struct sim_event *event, uint64_t at_us);

/* Takes the soonest event. False if there is none. */
bool sim_heap_pop(struct sim_heap *heap, struct sim_event *ret_event);

#endif
