/* How long masters did not vote, by the kind of fault that befell them: when a pawld noticed, what
 * it called that, and when the master voted again. Also which masters forgot and did not rejoin
 * yet. No I/O. */
#ifndef TESTS_CHAOS_ABSENCES_H
#define TESTS_CHAOS_ABSENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ABSENCES_MASTERS = 9,
    ABSENCES_REASONS = 6, /* that are told apart for one kind of fault */
    ABSENCES_REASON_MAX = 24,

    /* A master that all show as active, though it has no new incarnation, counts as taken back
     * after this time: a fault may have made it forget nothing. */
    ABSENCES_UNNOTICED_MS = 2000,
};

/* The effect of a fault on a master's knowledge. */
enum absences_memory {
    ABSENCES_KEPT,
    ABSENCES_DOUBTED, /* it forgets nothing, and may have to rejoin anyway */
    ABSENCES_FORGOT,  /* it has to rejoin */
};

struct absences_reason {
    char name[ABSENCES_REASON_MAX];
    size_t times;
};

/* Totals of one kind of fault. Absences during which other faults kept all pawld from seeing the
 * master count in @times only. */
struct absences_figures {
    size_t times;     /* the fault befell a master */
    size_t seen;      /* the times that nothing else disturbed the view, ... */
    size_t noticed;   /* ... counts those where some pawld showed the master as not active */
    double noticed_s; /* from the harm until then, on average */
    size_t back;      /* counts noticed faults after which the master voted again */
    double back_s;    /* from the end of the fault until then, on average */
    double back_most_s;
    struct absences_reason reason[ABSENCES_REASONS]; /* the first word that was given */
};

struct absence {
    bool open;
    bool ended; /* the fault is over */
    bool disturbed;
    bool noticed;
    enum absences_memory memory;
    unsigned kind;
    uint64_t incarnation; /* before the harm */
    uint64_t harmed_ms;
    uint64_t ended_ms;
    uint64_t noticed_ms;
    char reason[ABSENCES_REASON_MAX];
};

struct absences {
    struct absence absence[ABSENCES_MASTERS];
    struct absences_figures *figures; /* one for each kind, the caller's */
    size_t taken_back;                /* masters that forgot */
    double mean_s;                    /* mean of those: from the end of the fault on, on average */
    double slowest_s;
};

/* What is to be seen of a master by those pawld that no other fault keeps from seeing it. */
struct absences_sight {
    bool disturbed;       /* there is no such pawld */
    bool active;          /* none of them says otherwise */
    const char *reason;   /* if one does: its word; else NULL */
    uint64_t incarnation; /* that the master has, if it says that it is active; else 0 */
};

/* A fault of @kind befalls @master. @incarnation: the master's, before. An absence that is open
 * ends with that and is not measured. */
void absences_begin(struct absences *absences, unsigned master, unsigned kind,
                    enum absences_memory memory, uint64_t incarnation, uint64_t now_ms);

/* Only now the fault did its harm: what came before counts for nothing. */
void absences_harm(struct absences *absences, unsigned master, uint64_t incarnation,
                   uint64_t now_ms);

/* The fault is over; the master can vote again from here on. */
void absences_end(struct absences *absences, unsigned master, uint64_t now_ms);

/* True if by @sight @master, of which an absence was open, votes again. */
bool absences_look(struct absences *absences, unsigned master, const struct absences_sight *sight,
                   uint64_t now_ms);

/* The set of masters (bit i) of which an absence is open; and of those that forgot or are doubted:
 * while they are out, a majority of others has to keep what it knows. */
unsigned absences_open(const struct absences *absences);
unsigned absences_out(const struct absences *absences);

#endif
