/* The fleet: what this server knows of each master, and which of them may vote.
 *
 *                +--------------------- connection lost ----------------------+
 *                v                                                            |
 *   DOWN --handshake--> facts --judged--> ACTIVE     votes                    |
 *    ^                            |-----> REJOIN     restarted, or forgot: rejoining
 *    |                            |-----> RESTAMP    the server id is being renewed
 *    |                            |-----> WAITING    it depends on masters not probed yet
 *    |                            '-----> REFUSED    with a reason an operator can act on
 *    '---------- FENCE_EFFECT_RESET: silent for too long, or refused; probed again later
 *
 * Invariants: only an ACTIVE master is sent requests. The fleet id is what a majority names, now or
 * when last one did. The view of a fleet only rises.
 *
 * A higher incarnation of another member needs a second source: that member's own marker, a second
 * master, or this server's own rejoin. A majority of the others records each incarnation before the
 * member is admitted. So a true one has two sources sooner or later.
 *
 * One master's word about a member that votes counts for nothing. One master's word about a member
 * that cannot vote is named to that master alone. So the record of a leader that crashed blocks
 * no caller. This is safe: such a grant counts no vote of that member, and does not depend on what
 * it forgot. */
#ifndef FENCE_FLEET_FLEET_H
#define FENCE_FLEET_FLEET_H

#include "fence/fleet/clock_watch.h"
#include "fence/fleet/words.h"
#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"
#include "fence/protocol/position.h"
#include "fence/protocol/predecessors.h"
#include "fence/protocol/view.h"

#include <stdbool.h>
#include <stdint.h>

/* The results of a handshake with one master. The room in storage/ that knows such servers judges
 * their settings, in its own words: static strings that are never freed. */
struct fence_facts {
    char server_id[FENCE_ID_HEX_LEN + 1]; /* a server has a new one at each start */
    char server[FENCE_SERVER_MAX + 1];    /* its name for itself: "redis", "valkey"; "": unknown */
    char version[FENCE_SERVER_MAX + 1];   /* its own; "": unknown */
    bool module;                          /* a module of the server answers requests about locks */
    char lineage[FENCE_LINEAGE_MAX + 1];  /* the lineage of its data: another after anything that
                                           * may have taken writes back or dropped keys */
    const struct fence_words *unfit;      /* why this server may not vote, with any data;
                                           * NULL: it may */
    bool replica;                         /* it follows another server */
    bool intact;  /* its run or its lineage is not the marker's, but it seems to have everything:
                   * its disk kept it, or its memory was not touched */
    bool durable; /* its answers are on its disk, by all of its settings */
    const struct fence_words *undurable; /* the action if it no longer is; NULL: no more than
                                          * FENCE_REASON_UNDURABLE says */
    char persistence[16]; /* how it keeps writes, in the server's own word; or "unknown" */

    uint32_t findings; /* for the audit, a set: bit f is @finding_words[f] */
    const struct fence_words *finding_words;
    bool full;                        /* it has no room for another lock */
    uint32_t replicas;                /* attached to it */
    char host[FENCE_HOST_MAX + 1];    /* the machine it is on: an IP address, or "local" */
    struct fence_clock_reading clock; /* all zero in a handshake's facts */

    /* The field of the fleet hash that is not as Pawl writes it; "": none. @marked is false then.
     */
    char malformed[FENCE_FIELD_MAX + 1];
    uint32_t malformed_len;                      /* bytes of its value, 0 where it is absent, and */
    char malformed_bytes[FENCE_FIELD_BYTES_MAX]; /* the first of them */

    bool marked; /* the fleet hash is there; the rest is what it says */
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    uint32_t member;                             /* 1 .. n */
    char marked_server_id[FENCE_ID_HEX_LEN + 1]; /* when it was admitted, */
    char marked_lineage[FENCE_LINEAGE_MAX + 1];  /* and its lineage then */
    bool marked_durable;                         /* was it verified durable then */
    bool marked_active;                          /* state; else it is joining */
    bool initialising;                           /* joining, by a pawld init that is not done */
    bool issued;                                 /* the same, of a fleet that has issued tokens */
    int64_t next;     /* joining: the incarnation that it is to get; 0: none */
    int64_t progress; /* joining: rises while its leader gets on */
    uint32_t ttl_max_ms;
    uint32_t readers;             /* seats of readers; 0: the marker names none */
    uint32_t extensions_max;      /* for one grant; 0: the marker is of before it could be set */
    int64_t writes;               /* the count in its position */
    struct fence_positions heard; /* positions that servers told it */
    bool exclusive;         /* no other server can reach it: none can know more of its position */
    uint32_t other_members; /* number in its fleet, where these are not as many as this fleet's;
                               else 0 */
    struct fence_view view;

    bool closed; /* it was of a fleet that was moved away, and has not voted in another since: */
    char closed_fleet_id[FENCE_ID_HEX_LEN + 1];
    uint32_t closed_ttl_max_ms;
    uint32_t closed_extensions_max;
    uint32_t closed_readers;
    int64_t closed_floor;                  /* the highest token that any of its masters knew */
    char closed_for[FENCE_ID_HEX_LEN + 1]; /* the fleet that follows */

    /* Of the fleet that the marker names. Also the fleet of @closed, and its predecessors. */
    struct fence_predecessors predecessors;
};

enum fence_master_state {
    FENCE_MASTER_DOWN,
    FENCE_MASTER_WAITING,
    FENCE_MASTER_RESTAMP,
    FENCE_MASTER_REJOIN,
    FENCE_MASTER_REFUSED,
    FENCE_MASTER_ACTIVE,
};

/* Why a master is not active. Each has a text that says what to do. */
enum fence_reason {
    FENCE_REASON_NONE,
    FENCE_REASON_CONNECTING,  /* not reached yet */
    FENCE_REASON_UNREACHABLE, /* the connection failed; the detail says how */
    FENCE_REASON_SILENT,      /* connected, but did not answer in time */
    FENCE_REASON_UNWILLING,   /* answers, but takes no writes; the detail says why */
    FENCE_REASON_ERROR,       /* answers, but with an error; the detail is that */
    FENCE_REASON_CHANGED, /* it is not what it was in its handshake; the detail says what is new */
    FENCE_REASON_NO_MAJORITY, /* no majority of masters names one fleet */
    FENCE_REASON_RESTARTED,   /* restarted, or its lineage changed, and it seems to have kept all */
    FENCE_REASON_UNFIT,       /* fence_facts.unfit says why */
    FENCE_REASON_SAME_SERVER, /* the server of another --master too */
    FENCE_REASON_BLANK,       /* no marker: new, wiped or replaced */
    FENCE_REASON_MALFORMED,   /* a field of the marker is not as Pawl writes it */
    FENCE_REASON_OTHER_FLEET, /* the marker of another fleet */
    FENCE_REASON_OTHER_MEMBER, /* the marker of another place in the list */
    FENCE_REASON_OTHER_SIZE,   /* the marker of a fleet with another number of masters */
    FENCE_REASON_MOVED,        /* its fleet was moved to other masters */
    FENCE_REASON_LIST_ORDER,   /* another is in another's place: no master rejoins by this list */
    FENCE_REASON_OTHER_TTL,    /* the marker names another maximum TTL than the majority's */
    FENCE_REASON_UNDURABLE,    /* its marker says durable, and its settings no longer are */
    FENCE_REASON_FORGOT,       /* restarted, or its lineage changed: may have forgotten */
    FENCE_REASON_ROLLED_BACK,  /* it lost writes: its position is behind one that it showed */
    FENCE_REASON_SUPERSEDED,   /* others recorded a higher incarnation of it */
    FENCE_REASON_JOINING,      /* some server began to take it back */

    /* These are told to people (fence_fleet_told()), and never judged. */
    FENCE_REASON_INIT,  /* joining: a pawld init marked it, and has not let it vote */
    FENCE_REASON_EMPTY, /* blank, in a fleet that is not new: the same word, another sentence */
};

const char *fence_master_state_name(enum fence_master_state state);

/* The words for @reason: static, never NULL. @facts are those of the master that it is about; NULL
 * where the words of its server are not wanted. */
const struct fence_words *fence_reason_words(enum fence_reason reason,
                                             const struct fence_facts *facts);

/* Reports whether a master that does not vote for @reason may vote again within seconds without
 * anybody's doing: its restart, say. False: somebody has to act. */
bool fence_reason_passes(enum fence_reason reason);

struct fence_master {
    enum fence_master_state state;
    enum fence_reason reason;
    bool connected; /* @facts are of the connection that stands */
    bool known;     /* @facts are the last that a handshake found, and were refused meanwhile */
    struct fence_facts facts;
    struct fence_view named; /* the names in requests to it: the fleet's view, and what this one
                              * alone says of members that cannot vote now */
    uint32_t in_flight;      /* requests sent and not yet answered or lost */
    uint32_t locks;          /* that these are about, */
    uint32_t group_locks;    /* and of them, in requests for several */
    uint64_t progress_us;    /* when it last answered, or was first asked after a rest */
    uint64_t lag_us;         /* delay of this process since then: that time is no silence */
    uint64_t gone_us;        /* since when it is not connected; 0: it is */
    int64_t meant;           /* the incarnation that this server last meant it to get; 0: none */
    int64_t believed;        /* its incarnation in the fleet's view when @facts were found */
    uint64_t led_us;         /* when @facts first named this incarnation to get, or last got on */
    uint64_t eligible_at_us; /* REJOIN: when it votes again, where that is known; else 0 */
    uint64_t since_us;       /* since when @facts are of this process */
    struct fence_position shown; /* the last that it told this server itself */
    int64_t writes;              /* the same, on this connection */
    bool noted;                  /* the positions in @facts are */
    bool rolled_back;            /* its position is behind one that is known */
};

struct fence_fleet {
    unsigned n;                          /* masters, odd */
    uint64_t deadline_us;                /* silence after which a master counts as gone */
    char fleet_id[FENCE_ID_HEX_LEN + 1]; /* "" until a majority named one */
    bool closed; /* a master told that this fleet was moved away: for good */
    struct fence_predecessors predecessors; /* by any master of this fleet */
    uint32_t ttl_max_ms;                    /* the fleet's; 0 until then */
    uint32_t readers;                       /* seats of readers for each name; 0 until then */
    uint32_t readers_named;                 /* the same; 0: its markers name none */
    uint32_t extensions_max;                /* the fleet's; 0: it names none */
    struct fence_view view;                 /* the trusted value */
    struct fence_positions known;           /* the last that each member is known to have had */
    uint64_t judged_us;                     /* when its masters were judged last */
    uint64_t generation; /* counts changes of @view, and of what masters are named */
    struct fence_master master[FENCE_MASTERS_MAX];
};

/* The position of member @i by @facts, which are its own. And whether it was told a later one of
 * itself: then it lost writes since. */
struct fence_position fence_facts_position(const struct fence_facts *facts, unsigned i);
bool fence_facts_lost_writes(const struct fence_facts *facts, unsigned i);

/* Reports whether the process of a master, or its data, differ from the admitted ones. */
bool fence_facts_changed(const struct fence_facts *facts);

/* @n is odd, 1 .. FENCE_MASTERS_MAX. The deadline is FENCE_MASTER_DEADLINE_US; a caller may set
 * another. */
void fence_fleet_init(struct fence_fleet *fleet, unsigned n);

/* A handshake with master @i ended with @facts (copied): what they say of the fleet is taken up,
 * and fence_fleet_judge_all() is due. */
void fence_fleet_learn(struct fence_fleet *fleet, unsigned i, const struct fence_facts *facts,
                       uint64_t now_us);

/* Master @i refused to act because it knows @view. True if that raised the fleet's view. In both
 * cases fence_fleet_judge_all() is due. */
bool fence_fleet_learn_view(struct fence_fleet *fleet, unsigned i, const struct fence_view *view);

/* A probe of master @i found that servers told it @heard, and itself at @writes;
 * fence_fleet_judge_all() is due. */
void fence_fleet_hear(struct fence_fleet *fleet, unsigned i, const struct fence_positions *heard,
                      int64_t writes);

/* Notes the positions that new facts show, of members of the fleet. For fence_fleet_judge_all(). */
void fence_fleet_note_positions(struct fence_fleet *fleet);

/* Master @i says in a reply that it is at @writes. False if it said more on the same connection: it
 * lost writes since, so the reply counts for nothing. */
FENCE_CHECKED bool fence_fleet_shows(struct fence_fleet *fleet, unsigned i, int64_t writes);

/* The connection to master @i ended or could not be made, for @reason; fence_fleet_judge_all() is
 * due. */
void fence_fleet_lose(struct fence_fleet *fleet, unsigned i, enum fence_reason reason);

/* Judges all masters that are connected, except those in RESTAMP or REJOIN. News of one master can
 * change what another may do. Returns the set (bit i: master i) that has become RESTAMP, REJOIN or
 * REFUSED. */
uint32_t fence_fleet_judge_all(struct fence_fleet *fleet, uint64_t now_us);

/* How long after it was asked an answer counts. A far master may take longer. */
uint64_t fence_fleet_answer_us(const struct fence_fleet *fleet);

/* Reports whether every server has had the time to tell the position that master @i had before it
 * restarted. */
bool fence_fleet_is_told(const struct fence_fleet *fleet, unsigned i, uint64_t now_us);

/* When judging is due again, since every server has had the time to tell the position of a master
 * that restarted. FENCE_NEVER: no master waits for that. */
uint64_t fence_fleet_telling_ends_us(const struct fence_fleet *fleet);

/* Brings up to date what each master is named, after judging. True if anything changed. */
bool fence_fleet_name_views(struct fence_fleet *fleet);

/* The highest incarnation of member @i that any master names and that can be true. It is not true
 * if it is many more than what is believed: no fleet admits a member that often. */
int64_t fence_fleet_claimed(const struct fence_fleet *fleet, unsigned i);

/* The only way in which the state of a master changes. */
void fence_master_move(struct fence_master *master, enum fence_master_state to);

/* The set of masters in @state. */
uint32_t fence_fleet_in_state(const struct fence_fleet *fleet, enum fence_master_state state);

/* The set of masters that may be asked now, and how many they are. */
uint32_t fence_fleet_active(const struct fence_fleet *fleet);
unsigned fence_fleet_active_count(const struct fence_fleet *fleet);

/* How many locks the quickest majority owes answers for: what each of its masters owes at most. For
 * requests for several, if @groups. 0 where no majority is active. */
uint32_t fence_fleet_owed(const struct fence_fleet *fleet, bool groups);

/* True when a majority of the fleet is active. */
bool fence_fleet_ready(const struct fence_fleet *fleet);

/* Book-keeping of requests, each about @locks locks, for admission and for the silence deadline. A
 * master is silent if it owes replies and gave none for @deadline_us of the fleet. */
void fence_fleet_sent(struct fence_fleet *fleet, unsigned i, unsigned locks, uint64_t now_us);
void fence_fleet_answered(struct fence_fleet *fleet, unsigned i, unsigned locks, uint64_t now_us);
uint64_t fence_fleet_deadline(const struct fence_fleet *fleet); /* FENCE_NEVER: none */

/* This process was kept from asking and from hearing for @lag_us, until now: no silence of a master
 * counts within that time. A process that always lags still finds a dead master: lags of more than
 * FENCE_LAG_DEADLINES deadlines since the last reply do not count. */
void fence_fleet_lagged(struct fence_fleet *fleet, uint64_t lag_us, uint64_t now_us);
uint32_t fence_fleet_silent(const struct fence_fleet *fleet, uint64_t now_us);

/* Reports whether master @i, which rejoins, seems to have kept all it knew since it was
 * admitted. */
bool fence_fleet_keeps(const struct fence_fleet *fleet, unsigned i);

/* The text about master @i: its reason, or one that says more about how it came to that. A
 * higher incarnation that was learnt since the last probe is no sign yet of another machine. */
enum fence_reason fence_fleet_told(const struct fence_fleet *fleet, unsigned i);

/* Reports whether some master is in the middle of a pawld init. */
bool fence_fleet_initialising(const struct fence_fleet *fleet);

/* The fault of master @i, by its facts. They must fit member @i of this fleet, its view and
 * its maximum TTL. FENCE_REASON_NONE: it may vote. */
enum fence_reason fence_fleet_judge(const struct fence_fleet *fleet, unsigned i);

#endif
