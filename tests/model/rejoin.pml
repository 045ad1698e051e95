/* How a master that is out is taken back, by import. Any server may lead a rejoin. One that dies
 * just stops; one that was overtaken may go on. */

byte begun;
byte target[LEADERS];    /* 1 + the machine; 0 before and after */
VIEW knows[LEADERS];     /* the view that the leader's scripts name, the new incarnation in it */
byte recorded[LEADERS];  /* members that recorded it */
short installed[LEADERS]; /* pages that the member acknowledged, a bit each */

#include "pages.pml"

#define taken_back(r) member(target[r] - 1)
#define fresh(r) incarnation(knows[r], taken_back(r))

/* What the marker says of the member's own incarnation: the present one, and the one it is to get
 * if it is joining. */
#define meant(m) (state[m] >= 2 -> state[m] : 0)
#define own_marked(m) (meant(m) > is_now(m) -> meant(m) : is_now(m))

/* Step 1: marks the master, and removes its locks. To judge and to mark is one step here, since a
 * mark does nothing where the marker is not the one judged.
 *
 * A member whose incarnation is lower than others know is out, too. */
#define is_outdated(m) (state[m] == ACTIVE && issued[member(m)] >> (is_now(m) + 1) != 0)
#if LEADERS_AT_ONCE > 1
#define needs_leader(m) (state[m] != ACTIVE || lineage[m] != KEPT || is_outdated(m))
#else
#define needs_leader(m) (state[m] == OUT || lineage[m] != KEPT || is_outdated(m))
#endif

/* Rule: the new incarnation is above what the marker says, and was never meant before. It may be
 * below another that this leader does not know, since each has a random part. */
#ifdef MUTANT_INCARNATION_REUSED
#define may_be(m, x) (state[m] == joining(x) || may_be_new(m, x))
#else
#define may_be(m, x) may_be_new(m, x)
#endif
#if LEADERS_AT_ONCE > 1
#define may_be_new(m, x) \
    ((x) <= LEADERS + 1 && !(issued[member(m)] & bit(x)) && own_marked(m) < (x) && \
     is_of_memory(m, x))
#else
#define may_be_new(m, x) true
#endif

/* Rule: incarnations of a memory that was kept are below all that a replacement is given. Here 2 is
 * left for the former. */
#if HALF_WAY
#define kept_all(m) (keeps[m] || (state[m] == ACTIVE && lineage[m] == RESTARTED))
#else
#define kept_all(m) false
#endif
#if HALF_WAY && !defined(MUTANT_MEMORY_UNNAMED)
#define is_of_memory(m, x) (kept_all(m) == ((x) == 2))
#else
#define is_of_memory(m, x) true
#endif

/* The locks of a member that kept all it knew stay in the way, and count for nobody. */
inline clear(m)
{
#if HALF_WAY
    keeps[m] = kept_all(m);
#endif
#if HALF_WAY && !defined(MUTANT_KEPT_LOCKS_REMOVED)
    if
    :: keeps[m] && lock[m] != FREE -> origin[m] = IMPORTED
    :: keeps[m] && lock[m] == FREE
    :: else -> remove_lock(m)
    fi
#else
    remove_lock(m)
#endif
}

inline mark(r, m, x)
{
    printf("leader %d: marks master %d, to be %d\n", r, m, x);
#ifndef MUTANT_LOCKS_KEPT
    clear(m);
#endif
    state[m] = joining(x);
    lineage[m] = KEPT;
    issued[member(m)] = issued[member(m)] | bit(x);
    target[r] = m + 1;
#ifdef MUTANT_NOTHING_RECORDED
    knows[r] = FIRST_VIEW;
#else
    knows[r] = with_incarnation(FIRST_VIEW, member(m), x);
#endif
    begun++
}

#if REPLACEMENTS
#define is_there(m) ((m) != OLD_MACHINE || replaced)
#else
#define is_there(m) true
#endif

#define MARKS_AS(r, m, x) \
    :: d_step { \
        !over && begun == r && is_there(m) && needs_leader(m) && may_be(m, x) -> \
        mark(r, m, x) \
    }
#if LEADERS_AT_ONCE == 1
#define MARKS(r, m) MARKS_AS(r, m, r + 2)
#elif LEADERS > 1
#define MARKS(r, m) MARKS_AS(r, m, 2) MARKS_AS(r, m, 3)
#else
#define MARKS(r, m) MARKS_AS(r, m, 2)
#endif
#define MARKS_0(r) MARKS(r, 0)
#define MARKS_1(r) MARKS(r, 1)
#define MARKS_OLD(r) MARKS(r, OLD_MACHINE)

/* Rule: a mark is sent once. The same mark sent again would find a member that forgot since as
 * blank as before, and its pages are gone while the leader counts them as installed. */
#ifdef MUTANT_MARK_SENT_AGAIN
#define MARKS_AGAIN(r) \
    :: d_step { \
        !over && target[r] != 0 && state[target[r] - 1] == OUT -> \
        printf("leader %d: marks master %d again\n", r, target[r] - 1); \
        state[target[r] - 1] = joining(fresh(r)) \
    }
#else
#define MARKS_AGAIN(r)
#endif

/* Step 2: on q other active masters records the new incarnation. Like every script it names a view,
 * which is all that it takes: the master adopts it, or refuses. */
#ifdef MUTANT_ONE_READ_FEWER
#define ENOUGH_READ (Q - 1)
#else
#define ENOUGH_READ Q
#endif
#ifdef MUTANT_LEADER_NAMES_NO_VIEW
#define record_accepted(r, m) (is_read_active(m) && !is_behind(m, knows[r], taken_back(r)))
#define view_recorded(r, m) with_incarnation(view[m], taken_back(r), fresh(r))
#else
#define record_accepted(r, m) (is_read_active(m) && view_fits(m, knows[r]))
#define view_recorded(r, m) adopted(m, knows[r])
#endif
#define is_recorded(r) (members_in(recorded[r]) == ENOUGH_READ)
#define may_record(r, m) \
    (!over && target[r] != 0 && !is_recorded(r) && \
     taken_back(r) != member(m) && !is_at(recorded[r], m) && record_accepted(r, m))

inline record(r, m)
{
    printf("leader %d: recorded at master %d\n", r, m);
    act_of_view(m, view_recorded(r, m));
    view[m] = view_recorded(r, m);
    see(0, m);
    put_in(recorded[r], m)
}

#define RECORDS(r, m) :: d_step { may_record(r, m) -> record(r, m) }

/* Rule: a leader that learns of another view records and reads all anew. */
#ifdef MUTANT_RECORDED_UNDER_TWO_VIEWS
#define KEEPS_RECORDS 1
#else
#define KEEPS_RECORDS 0
#endif

inline record_anew(r, x)
{
    knows[r] = with_incarnation(knows[r], 1 - taken_back(r), x);
    printf("leader %d: learns view 0%o\n", r, knows[r]);
    if
    :: !KEEPS_RECORDS ->
        recorded[r] = 0;
        installed[r] = 0;
        drop_page(r)
    :: else
    fi
}

#define LEARNS_OF(r, x) \
    :: d_step { \
        !over && target[r] != 0 && (issued[1 - taken_back(r)] & bit(x)) && \
        incarnation(knows[r], 1 - taken_back(r)) < (x) && !is_imported(r) -> \
        record_anew(r, x) \
    }
#if !SECOND_FAILS
#define LEARNS(r)
#elif LEADERS > 1
#define LEARNS(r) LEARNS_OF(r, 2) LEARNS_OF(r, 3)
#else
#define LEARNS(r) LEARNS_OF(r, 2)
#endif

/* Rule: pages are read only after q masters recorded it. A master refuses if it is not the one that
 * the view names, or if the record does not stand there. */
#ifdef MUTANT_READ_BEFORE_RECORD
#define may_be_read(r, m) (taken_back(r) != member(m) && is_active(m))
#else
#define may_be_read(r, m) \
    (is_recorded(r) && is_at(recorded[r], m) && is_read_active(m) && \
     is_as_recorded(r, m) && record_stands(r, m))
#endif
#if defined(MUTANT_PAGE_OF_ANY_INCARNATION) || KEEPS_RECORDS
#define is_as_recorded(r, m) true
#else
#define is_as_recorded(r, m) own_agrees(m, knows[r])
#endif
#ifdef MUTANT_PAGE_WITHOUT_RECORD
#define record_stands(r, m) true
#else
#define record_stands(r, m) (incarnation(view[m], taken_back(r)) == fresh(r))
#endif
#define may_read(r, m, kind) \
    (!over && target[r] != 0 && page[r] == NO_PAGE && !(installed[r] & page_bit(m, kind)) && \
     may_be_read(r, m))

/* Step 3: installs a page. Rule: only while the member is joining with this leader's nonce, in the
 * same lineage. */
#ifdef MUTANT_INSTALL_WITHOUT_NONCE
#define nonce_matches(r) (state[target[r] - 1] != OUT)
#else
#define nonce_matches(r) (state[target[r] - 1] == joining(fresh(r)))
#endif
#ifdef MUTANT_NOTHING_RECORDED
#undef nonce_matches
#define nonce_matches(r) (state[target[r] - 1] >= 2)
#endif
#ifdef MUTANT_LINEAGE_UNCHECKED_IN_INSTALL
#define is_of_lineage(r) true
#else
#define is_of_lineage(r) (lineage[target[r] - 1] == KEPT)
#endif
#define may_install(r) (!over && target[r] != 0 && nonce_matches(r) && is_of_lineage(r))

#if IN_FLIGHT
#define INSTALLS(r) :: d_step { page[r] != NO_PAGE && may_install(r) -> install(r, target[r] - 1) }
#define can_read(r, m, kind) may_read(r, m, kind)
#define install_at_once(r) skip
#else
#define can_read(r, m, kind) (may_read(r, m, kind) && may_install(r))
#define install_at_once(r) install(r, target[r] - 1)
#endif

#if PAGES_APART
#define READS_COUNTER(r, m) \
    :: d_step { can_read(r, m, COUNTER_PAGE) -> read_counter(r, m); install_at_once(r) }
#else
#define READS_COUNTER(r, m)
#endif

/* A lock that expired is not read; nor is one that expires then. */
#define READS(r, m) \
    READS_COUNTER(r, m) \
    :: d_step { can_read(r, m, LOCK_PAGE) -> read_lock(r, m); install_at_once(r) } \
    :: d_step { \
        can_read(r, m, LOCK_PAGE) && may_expire(m) -> \
        expire(m); \
        read_lock(r, m); \
        install_at_once(r) \
    }

/* Step 4: admits the member, when all pages of q masters are installed. Under the same rule as an
 * install, with which the nonce ends. */
#define ALL_PAGES (PAGES_APART -> 3 : 2)
#define is_from(r, m) ((installed[r] >> (2 * (m)) & ALL_PAGES) == ALL_PAGES)
#define is_imported(r) \
    (is_from(r, 0) + is_from(r, 1) + is_from(r, 2) + is_from(r, 3) + is_from(r, 4) == ENOUGH_READ)
#define may_admit(r) (is_imported(r) && is_recorded(r) && may_install(r))

/* Rule: it knows of the others what the leader knows, and what it recorded itself. */
#define raised(v, by, whose) \
    (incarnation(by, whose) > incarnation(v, whose) \
         -> with_incarnation(v, whose, incarnation(by, whose)) \
         : (v))
#ifdef MUTANT_VIEW_NOT_ADMITTED
#define view_admitted(r, m) with_incarnation(view[m], member(m), fresh(r))
#else
#define view_admitted(r, m) raised(knows[r], view[m], 1 - member(m))
#endif

inline admit(r, m)
{
    printf("leader %d: admits master %d, counter %d\n", r, m, counter[m]);
    view[m] = view_admitted(r, m);
    lineage[m] = KEPT;
    count_anew(m);
#if HALF_WAY
    keeps[m] = false;
#endif
    state[m] = ACTIVE
}

inline end_rejoin(r)
{
    target[r] = 0;
    knows[r] = 0;
    recorded[r] = 0;
    installed[r] = 0;
    drop_page(r)
}

#define ADMITS(r) :: d_step { may_admit(r) -> admit(r, target[r] - 1); end_rejoin(r) }

/* The message arrives, and will arrive once more. */
#define ADMITS_FIRST(r) \
    :: d_step { duplicates > 0 && may_admit(r) -> admit(r, target[r] - 1); duplicates-- }
