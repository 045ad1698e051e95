/* The language of the table: a row is a name and a list of steps, a step is what is asked and what
 * is expected.
 *
 *     ROW(held_lock_names_its_holder,
 *         {TAKE(A, 1), NUMBER(1)},
 *         {TAKE(B, 2), HELD(A)})
 *
 * Before the first step the master is admitted: it is active, and its view is 10, 25, 30. Unnamed
 * members have defaults: the resource "a", a lease of 30 s, three extensions at the most.
 *
 * Resources are letters; "a" and "c" have one counter. Several letters are a group. */
#ifndef TESTS_CONTRACT_STEP_H
#define TESTS_CONTRACT_STEP_H

#include "tests/contract/master.h"

enum {
    CONTRACT_RESOURCES = 3,
    CONTRACT_TTL_MS = 30000,
    CONTRACT_EXTENSIONS = 3,
    CONTRACT_NAMES = 100,
    CONTRACT_ADMITTED = 25, /* its incarnation before the first step */
    CONTRACT_STAYING = -1,
};

/* The calls that break grants. */
#define CONTRACT_BREAKER "breaker"

/* Lock ids. */
#define A  "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define AA A "aaaa" /* begins as A does */
#define B  "bbbbbbbbbbbbbbbbbbbbbbbbbbb"

enum contract_doing {
    CONTRACT_END, /* of a row */
    CONTRACT_ASK,
    CONTRACT_REJOIN,
    CONTRACT_FACTS,
    CONTRACT_RESTAMP,
    CONTRACT_HEARD,
    CONTRACT_PASS,
    CONTRACT_HARM,
};

enum contract_marked {
    CONTRACT_BLANK,
    CONTRACT_JOINING,
    CONTRACT_ACTIVE,
};

struct contract_step {
    enum contract_doing doing;

    /* ASK */
    enum fence_request_kind kind;
    const char *on; /* resources; NULL: "a" */
    bool group;     /* also of one resource */
    const char *lock_id;
    uint64_t attempt;
    int64_t tokens[CONTRACT_RESOURCES]; /* tokens of each resource */
    int64_t hints[CONTRACT_RESOURCES];  /* the same */
    uint32_t ttl_ms;                    /* 0: CONTRACT_TTL_MS */
    uint32_t delay_ms;                  /* that the owner names; ttl_ms has it, but of an EXTEND */
    uint32_t keep_ms;                   /* RELEASE */
    uint32_t extended;                  /* JOIN */
    uint32_t count;                     /* COUNT */
    uint32_t names_max;                 /* COUNT; 0: CONTRACT_NAMES */
    bool unlabelled;                    /* the holder has no label */
    bool waits;
    int64_t ticket; /* TAKE */
    bool gated;     /* TAKE: the second of two is a gate */
    bool writes;    /* TAKE: by a writer */
    bool covers;    /* RELEASE: of all locks of a writer */
    bool again;

    /* ASK, READ, RECORD: added to the view that is named, member by member. */
    int64_t off[CONTRACT_MASTERS];

    /* REJOIN */
    enum fence_rejoin_step step;
    int64_t incarnation; /* MARK, RECORD: the new one; CLEAR, READ, INSTALL, ADMIT: so far off */
    bool unseen;         /* MARK: judged by the facts before the last */
    bool keeps;          /* MARK */
    int miscount;        /* CLEAR, INSTALL, ADMIT: added to the number of steps done */
    unsigned source;     /* READ: the pages are kept as those of member 0 or 2. INSTALL: these */
    bool empty;          /* INSTALL: an empty page instead */
    int64_t floor;       /* ADMIT */

    /* PASS, HARM */
    unsigned ms;
    enum contract_harm harm;
    int64_t number;

    /* Expected of ASK */
    enum fence_reply_kind reply;
    int64_t numbers[CONTRACT_RESOURCES]; /* NUMBER: of each resource. HELD, INSPECT: the first. YES
                                          * to EXTEND, JOIN: the extensions that it has had */
    bool adopted;                        /* YES to RELEASE */
    const char *holder;                  /* HELD */
    const char *kept_by;                 /* HELD by no holder: whose label it has */
    unsigned member;                     /* which of a group is in the way */
    bool found;
    int moves;        /* so many writes further than after the last request; STAYING: none.
                       * 0: not looked at */
    unsigned left_ms; /* HELD: at most, 0: CONTRACT_TTL_MS. NUMBER: the same, 0: exactly */

    /* Expected of REJOIN, FACTS, HEARD */
    enum fence_rejoin_outcome outcome;
    int64_t highest; /* SURVEY */
    enum contract_marked marked;
    int64_t next;         /* FACTS */
    const char *heard;    /* the resource that was heard, or NULL */
    const char *heard_id; /* released by whom */
};

struct contract_row {
    const char *name;
    bool durable;   /* for a master that loses nothing */
    bool blank;     /* it is not admitted before */
    bool by_hand;   /* somebody writes its keys */
    bool softens;   /* somebody changes its settings */
    bool positions; /* it is about the position of the master */
    const struct contract_step *steps;
};

struct contract_rows {
    const struct contract_row *rows;
    size_t count;
};

/* clang-format off */

/* Defines contract_<what>. */
#define ROWS(what, ...)                                                                            \
    static const struct contract_row what##_rows[] = {__VA_ARGS__};                                \
    const struct contract_rows contract_##what = {what##_rows,                                     \
                                                  sizeof(what##_rows) / sizeof(what##_rows[0])};

#define STEPS(...)                 .steps = (const struct contract_step[]){__VA_ARGS__, {0}}
#define ROW(row_name, ...)         {.name = #row_name, STEPS(__VA_ARGS__)}
#define ROW_BLANK(row_name, ...)   {.name = #row_name, .blank = true, STEPS(__VA_ARGS__)}
#define ROW_DURABLE(row_name, ...) {.name = #row_name, .durable = true, STEPS(__VA_ARGS__)}
#define ROW_BY_HAND(row_name, ...) {.name = #row_name, .by_hand = true, STEPS(__VA_ARGS__)}
#define ROW_POSITIONS(row_name, ...)                                                               \
    {.name = #row_name, .positions = true, STEPS(__VA_ARGS__)}
#define ROW_SOFTENS(row_name, ...)                                                                 \
    {.name = #row_name, .durable = true, .softens = true, STEPS(__VA_ARGS__)}

/* clang-format on */

/* ---- what is asked --------------------------------------------------------------------------- */

#define REQUEST(what, id) .doing = CONTRACT_ASK, .kind = FENCE_REQUEST_##what, .lock_id = (id)

#define TAKE(id, by)         REQUEST(TAKE, id), .attempt = (by)
#define CONFIRM(id, by, ...) REQUEST(CONFIRM, id), .attempt = (by), .tokens = {__VA_ARGS__}
#define EXTEND(id, token)    REQUEST(EXTEND, id), .tokens = {token}
#define JOIN(id, by, token)  REQUEST(JOIN, id), .attempt = (by), .tokens = {token}
#define RELEASE(id)          REQUEST(RELEASE, id)
#define KEEP(id, ms)         REQUEST(RELEASE, id), .keep_ms = (ms)
#define UNDO(id, by)         REQUEST(UNDO, id), .attempt = (by)
#define INSPECT              REQUEST(INSPECT, "")
#define COUNT(values)        REQUEST(COUNT, ""), .count = (values)
#define BREAK(id, token)     REQUEST(BREAK, id), .tokens = {token}
#define HINT(...)            .hints = {__VA_ARGS__}

#define REJOIN(what) .doing = CONTRACT_REJOIN, .step = FENCE_REJOIN_##what
#define MARK(to)     REJOIN(MARK), .incarnation = (to)
#define CLEAR        REJOIN(CLEAR)
#define RECORD(to)   REJOIN(RECORD), .incarnation = (to)
#define READ(of)     REJOIN(READ), .source = (of)
#define INSTALL(of)  REJOIN(INSTALL), .source = (of)
#define ADMIT        REJOIN(ADMIT)
#define SURVEY       REJOIN(SURVEY)

#define RESTAMP       .doing = CONTRACT_RESTAMP
#define FACTS         .doing = CONTRACT_FACTS
#define PASS(time_ms) .doing = CONTRACT_PASS, .ms = (time_ms)
#define HARM(what)    .doing = CONTRACT_HARM, .harm = CONTRACT_##what
#define FORGET        HARM(FORGET)

/* ---- what is expected ------------------------------------------------------------------------ */

#define NUMBER(...)    .reply = FENCE_REPLY_NUMBER, .numbers = {__VA_ARGS__}
#define FOUND(ms, ...) NUMBER(__VA_ARGS__), .found = true, .left_ms = (ms)
#define HELD(id)       .reply = FENCE_REPLY_HELD, .holder = (id)
#define KEPT(id)       HELD(FENCE_KEPT_ID), .kept_by = (id)
#define YES            .reply = FENCE_REPLY_YES
#define EXTENDED(ever) YES, .numbers = {ever}
#define BELOW          YES, .numbers = {0}
#define ADOPTED        YES, .adopted = true
#define NO             .reply = FENCE_REPLY_NO
#define PAST           .reply = FENCE_REPLY_PAST
#define TAKEN          .reply = FENCE_REPLY_TAKEN
#define EXHAUSTED      .reply = FENCE_REPLY_EXHAUSTED
#define SUPERSEDED     .reply = FENCE_REPLY_SUPERSEDED
#define BROKEN         .reply = FENCE_REPLY_BROKEN
#define UNCOUNTED      .reply = FENCE_REPLY_UNCOUNTED
#define STALE          .reply = FENCE_REPLY_STALE
#define FOREIGN        .reply = FENCE_REPLY_FOREIGN
#define ENDLESS        .reply = FENCE_REPLY_ENDLESS
#define SPENT          .reply = FENCE_REPLY_SPENT
#define MISCOUNTED     .reply = FENCE_REPLY_MISCOUNTED
#define FULL           .reply = FENCE_REPLY_FULL
#define REFUSED        .reply = FENCE_REPLY_REFUSED
#define LOST           .reply = FENCE_REPLY_LOST
#define WRITERS        .reply = FENCE_REPLY_WRITERS
#define MOVES          .moves = 1
#define STAYS          .moves = CONTRACT_STAYING

#define DONE    .outcome = FENCE_REJOIN_DONE
#define CHANGED .outcome = FENCE_REJOIN_CHANGED
#define GONE    .outcome = FENCE_REJOIN_LOST

#define IS_BLANK       .marked = CONTRACT_BLANK
#define IS_JOINING(to) .marked = CONTRACT_JOINING, .next = (to)
#define IS_ACTIVE      .marked = CONTRACT_ACTIVE

#define HEARD(id, name) .doing = CONTRACT_HEARD, .heard_id = (id), .heard = (name)
#define HEARD_NOTHING   .doing = CONTRACT_HEARD

#endif
