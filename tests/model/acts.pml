/* How servers notice that a durable member restarted from an older file: it counts its writes, and
 * servers remember the highest count that they saw.
 *
 * Member 0 alone has an older file. Before that file is copied, and after the last restart from it,
 * counts would differ in what matters to nobody. So writes are counted from the copy on, and up to
 * ACTS_MAX: with one older file it matters only whether there was a write since.
 *
 * Nobody sees what becomes of a server that is there: it tells all it knows to the masters that it
 * reaches before any disk is believed. What a server told at an earlier moment is less. */

#if OLDER_FILES
#ifndef ACTS_MAX
#define ACTS_MAX (OLDER_FILES > 1 -> 4 : 1)
#endif

byte acts;

/* Rule: a higher incarnation is newer, whatever was counted. So is a disk that was believed once
 * more (OLDER_FILES = 2). */
#if OLDER_FILES > 1 && !defined(MUTANT_BELIEF_UNCOUNTED)
byte beliefs;
#else
#define beliefs 0
#endif
#define stamp() (incarnation(view[0], 0) << 5 | beliefs << 3 | acts)
#define has_copy() (saved == 1)
#define is_counting() (has_copy() || seen[0] != 0 || seen[SERVERS - 1] != 0)

/* Each attempt is of a server of its own only where servers die, or do not ask each other. What
 * leaders and extensions saw is then of no matter. */
#if DEATHS || defined(MUTANT_TOLD_IGNORED)
#define SERVERS ATTEMPTS
#define server_of(a) (a)
#else
#define SERVERS 1
#define server_of(a) 0
#endif

byte seen[SERVERS]; /* the highest stamp in an answer that the server had, since the copy */

/* Rule: the count is written together with what it counts. Else a file may be copied between. */
#ifdef MUTANT_COUNTED_BEFORE_WRITTEN
bool is_ahead;
#define copied_ahead(m) is_ahead = true
#else
#define copied_ahead(m) skip
#endif

inline act(m)
{
    if
#ifdef MUTANT_COUNTED_BEFORE_WRITTEN
    :: (m) == 0 && is_ahead -> is_ahead = false
    :: (m) == 0 && !is_ahead && is_counting() && acts < ACTS_MAX -> acts++
#else
    :: (m) == 0 && is_counting() && acts < ACTS_MAX -> acts++
#endif
    :: else
    fi
}

inline act_if(m, it_writes)
{
    if
    :: it_writes -> act(m)
    :: else
    fi
}

/* Rule: the count stands still while the member is not active, or it might catch up with what is
 * known of it. */
#if defined(MUTANT_UNBELIEVED_DISK_COUNTS)
#define act_of_undo(m) act(m)
#elif defined(MUTANT_CLEANUPS_UNCOUNTED)
#define act_of_undo(m) skip
#else
#define act_of_undo(m) act_if(m, is_active(m))
#endif

/* Writes that the member may not count, in a mutant. */
#ifdef MUTANT_EXTENSIONS_UNCOUNTED
#define act_of_extension(m) skip
#else
#define act_of_extension(m) act(m)
#endif
#ifdef MUTANT_CONFIRMS_UNCOUNTED
#define act_of_confirm(m) skip
#else
#define act_of_confirm(m) act(m)
#endif
#ifdef MUTANT_VIEWS_UNCOUNTED
#define act_of_view(m, v) skip
#else
#define act_of_view(m, v) act_if(m, view[m] != (v))
#endif

inline see(a, m)
{
    if
    :: (m) == 0 && is_counting() && seen[server_of(a)] < stamp() -> seen[server_of(a)] = stamp()
    :: else
    fi
}

/* Rule: an answer that its server reads after a disk was believed is not counted. */
#ifdef MUTANT_ANSWER_READ_LATE
#define see_at_once(a, m) skip
#define see_late(a, majority) see_if(a, 0, (majority) & 1)
#else
#define see_at_once(a, m) see(a, m)
#define see_late(a, majority) skip
#endif

/* Rule: a read's answer carries the count, too. */
#ifdef MUTANT_READS_CARRY_NO_COUNT
#define see_count(a, m) see_if(a, m, count[a] > 0)
#define see_miss(m) skip
#else
#define see_count(a, m) see(a, m)
#define see_miss(m) see(0, m)
#endif

inline see_if(a, m, it_carries)
{
    if
    :: it_carries -> see(a, m)
    :: else
    fi
}

/* Rule: an answer from before what the server saw is not counted. */
#if defined(MUTANT_DISK_TRUSTED_BLINDLY)
#define is_older_than(known) false
#elif defined(MUTANT_OTHER_INCARNATIONS_IGNORED)
#define is_older_than(known) (stamp() < (known) && stamp() >> 5 == (known) >> 5)
#else
#define is_older_than(known) (stamp() < (known))
#endif
#ifdef MUTANT_STALE_ANSWERS_COUNT
#define is_stale(a, m) false
#else
#define is_stale(a, m) ((m) == 0 && is_older_than(seen[server_of(a)]))
#endif

/* A server that dies has told a master, which whoever judges can ask: that is the assumption. */
#if DEATHS
byte deaths = DEATHS;
byte dead; /* servers */
byte told; /* what that master was told */

#define is_dead(a) (dead & bit(server_of(a)))

#define DIES(a) \
    :: d_step { \
        !over && deaths > 0 && seen[server_of(a)] != 0 && (may_be_granted(a) || was_granted(a)) -> \
        printf("attempt %d: its server dies, and has told another master\n", a); \
        deaths--; \
        dead = dead | bit(server_of(a)); \
        told = seen[server_of(a)]; \
        rest_if_settled() \
    }
#else
#define is_dead(a) false
#define told 0
#endif

/* Whether a server that judges member 0 has to find that its disk is older. */
#define knows_older(a) (!is_dead(a) && is_older_than(seen[a]))
#define has_no_idea(a) (!is_dead(a) && !is_older_than(seen[a]))
#if SERVERS == 1
#define is_known_older() is_older_than(seen[0])
#elif defined(MUTANT_TOLD_IGNORED)
#define is_known_older() (!has_no_idea(0) && !has_no_idea(1))
#elif defined(MUTANT_TOLD_BY_THE_LIVING_ALONE)
#define is_known_older() (knows_older(0) || knows_older(1))
#else
#define is_known_older() (knows_older(0) || knows_older(1) || is_older_than(told))
#endif
#define is_older(m) ((m) == 0 && is_known_older())

/* What is known of older files is needed no more when there is none. */
inline forget_acts(m)
{
    if
    :: (m) == 0 && !has_copy() && stamp() >= seen[0] && stamp() >= seen[SERVERS - 1] ->
        acts = 0;
        seen[0] = 0;
        seen[SERVERS - 1] = 0
    :: else
    fi
}

inline believe(m)
{
#if OLDER_FILES > 1 && !defined(MUTANT_BELIEF_UNCOUNTED)
    if
    :: (m) == 0 -> beliefs++; acts = 0
    :: else
    fi;
#endif
    forget_acts(m)
}

inline count_anew(m)
{
    if
    :: (m) == 0 -> acts = 0
    :: else
    fi;
    forget_acts(m)
}
#else
#define act(m) skip
#define act_of_extension(m) skip
#define act_of_undo(m) skip
#define act_of_view(m, v) skip
#define see(a, m) skip
#define see_at_once(a, m) skip
#define see_late(a, majority) skip
#define act_of_confirm(m) skip
#define copied_ahead(m) skip
#define see_count(a, m) skip
#define see_miss(m) skip
#define act_if(m, it_writes) skip
#define believe(m) skip
#define count_anew(m) skip
#define is_stale(a, m) false
#define is_dead(a) false
#define is_older(m) false
#endif
