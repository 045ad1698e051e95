/* How a server notices that a durable member restarted from an older file. The member counts its
 * writes. Each of its answers carries that count, and servers remember the highest.
 *
 * Member 0 alone has an older file: a copy that is made at any moment, and put back at any later
 * one. Its writes are counted from the copy on, since only what came after the copy can be missing.
 * The count ends at ACTS_MAX: with one copy it matters only whether there was a write after it.
 *
 * Before a disk is believed, each server that is alive tells the masters that it reaches what it
 * knows. The server that judges asks one of these masters at least, if only the member itself. So
 * it knows what all servers that are alive know. */

#if OLDER_FILES
#ifndef ACTS_MAX
#define ACTS_MAX (OLDER_FILES > 1 -> 4 : 1)
#endif

/* Each attempt has a server of its own where servers die, or do not ask each other. Elsewhere all
 * share what they know. */
#if DEATHS || defined(MUTANT_TOLD_IGNORED)
#define SERVERS ATTEMPTS
#define server_of(a) (a)
#else
#define SERVERS 1
#define server_of(a) 0
#endif

byte acts;
byte seen[SERVERS]; /* the highest stamp in an answer that the server had since the copy; 0: none */

/* Rule: a stamp of a higher incarnation is higher, whatever was counted. So is the stamp of a disk
 * that was believed once more: two files may count as many writes, and not the same ones. */
#if OLDER_FILES > 1 && !defined(MUTANT_BELIEF_UNCOUNTED)
byte beliefs;
#else
#define beliefs 0
#endif
#define stamp() (incarnation(view[0], 0) << 5 | beliefs << 3 | acts)
#define has_copy() (saved == 1)
#define is_counting() (has_copy() || seen[0] != 0 || seen[SERVERS - 1] != 0)

/* ---- what the member counts ------------------------------------------------------------------- */

/* Rule: a write and its count reach the disk together. Else a file may have the count alone. */
#ifdef MUTANT_COUNTED_BEFORE_WRITTEN
bool is_ahead; /* the copy has the count of the write that comes next */
#define copied_ahead(m) is_ahead = true
#define SKIPS_ACT(m) :: (m) == 0 && is_ahead -> is_ahead = false
#define rises(m) ((m) == 0 && !is_ahead && is_counting() && acts < ACTS_MAX)
#else
#define copied_ahead(m) skip
#define SKIPS_ACT(m)
#define rises(m) ((m) == 0 && is_counting() && acts < ACTS_MAX)
#endif

inline act(m)
{
    if
    SKIPS_ACT(m)
    :: rises(m) -> acts++
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

/* Rule: a confirm counts. */
#ifdef MUTANT_CONFIRMS_UNCOUNTED
#define act_of_confirm(m) skip
#else
#define act_of_confirm(m) act(m)
#endif

/* Rule: an extension counts, and so does a join. */
#ifdef MUTANT_EXTENSIONS_UNCOUNTED
#define act_of_extension(m) skip
#else
#define act_of_extension(m) act(m)
#endif

/* Rule: a record counts, and all else that changes the view of the member. */
#ifdef MUTANT_VIEWS_UNCOUNTED
#define act_of_view(m, v) skip
#else
#define act_of_view(m, v) act_if(m, view[m] != (v))
#endif

/* Rule: the count stands still while the member is not active. Else it rises to what servers know,
 * by clean-ups. */
#if defined(MUTANT_UNBELIEVED_DISK_COUNTS)
#define act_of_undo(m) act(m)
#elif defined(MUTANT_CLEANUPS_UNCOUNTED)
#define act_of_undo(m) skip
#else
#define act_of_undo(m) act_if(m, is_active(m))
#endif

/* ---- what servers know ------------------------------------------------------------------------ */

inline see(a, m)
{
    if
    :: (m) == 0 && is_counting() && seen[server_of(a)] < stamp() -> seen[server_of(a)] = stamp()
    :: else
    fi
}

inline see_if(a, m, it_carries)
{
    if
    :: it_carries -> see(a, m)
    :: else
    fi
}

/* Rule: an answer counts only if its server has read it before a disk is believed. */
#ifdef MUTANT_ANSWER_READ_LATE
#define see_at_once(a, m) skip
#define see_late(a, majority) see_if(a, 0, (majority) & bit(0))
#else
#define see_at_once(a, m) see(a, m)
#define see_late(a, majority) skip
#endif

/* Rule: an answer carries the count also where its request wrote nothing. */
#ifdef MUTANT_READS_CARRY_NO_COUNT
#define see_count(a, m) see_if(a, m, count[a] > 0)
#define see_miss(m) skip
#else
#define see_count(a, m) see(a, m)
#define see_miss(m) see(0, m)
#endif

#if defined(MUTANT_DISK_TRUSTED_BLINDLY)
#define is_older_than(known) false
#elif defined(MUTANT_OTHER_INCARNATIONS_IGNORED)
#define is_older_than(known) (stamp() < (known) && stamp() >> 5 == (known) >> 5)
#else
#define is_older_than(known) (stamp() < (known))
#endif

/* Rule: a server does not count an answer from before what it knows. */
#ifdef MUTANT_STALE_ANSWERS_COUNT
#define is_stale(a, m) false
#else
#define is_stale(a, m) ((m) == 0 && is_older_than(seen[server_of(a)]))
#endif

/* A server dies, and its attempt goes on no more. It had told a master that is there, and that the
 * server asks which judges: this is the assumption. */
#if DEATHS
byte deaths = DEATHS;
byte dead; /* servers */
byte told; /* what that master was told */

#define is_dead(a) ((dead & bit(server_of(a))) != 0)

#define DIES(a) \
    :: d_step { \
        !over && deaths > 0 && seen[server_of(a)] != 0 && (may_be_granted(a) || was_granted(a)) -> \
        printf("attempt %d: its server dies, and has told a master\n", a); \
        deaths--; \
        dead = dead | bit(server_of(a)); \
        told = seen[server_of(a)]; \
        rest_if_settled() \
    }
#else
#define is_dead(a) false
#endif

/* ---- whether a disk is believed --------------------------------------------------------------- */

/* Rule: a disk is older if any server that is alive knows so, or any master that is asked was told.
 */
#define knows(a) (!is_dead(a) && is_older_than(seen[a]))
#define knows_nothing(a) (!is_dead(a) && !is_older_than(seen[a]))
#if defined(MUTANT_TOLD_IGNORED)
#define is_older(m) ((m) == 0 && !knows_nothing(0) && !knows_nothing(1))
#elif SERVERS == 1
#define is_older(m) ((m) == 0 && knows(0))
#elif defined(MUTANT_TOLD_BY_THE_LIVING_ALONE)
#define is_older(m) ((m) == 0 && (knows(0) || knows(1)))
#else
#define is_older(m) ((m) == 0 && (knows(0) || knows(1) || is_older_than(told)))
#endif

/* Rule: a member that is joining, and kept all it knew, is not believed without the same check. */
#ifdef MUTANT_HALF_WAY_UNCHECKED
#define is_older_half_way(m) false
#else
#define is_older_half_way(m) is_older(m)
#endif

/* What servers know matters no more once the member goes on, and no copy is left. */
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

/* Of a member with a new incarnation. */
inline count_anew(m)
{
    if
    :: (m) == 0 -> acts = 0
    :: else
    fi;
    forget_acts(m)
}
#else
#define act_of_confirm(m) skip
#define act_of_extension(m) skip
#define act_of_undo(m) skip
#define act_of_view(m, v) skip
#define act(m) skip
#define act_if(m, it_writes) skip
#define copied_ahead(m) skip
#define see(a, m) skip
#define see_at_once(a, m) skip
#define see_late(a, majority) skip
#define see_count(a, m) skip
#define see_miss(m) skip
#define believe(m) skip
#define count_anew(m) skip
#define is_stale(a, m) false
#define is_dead(a) false
#define is_older(m) false
#define is_older_half_way(m) false
#endif
