/* The scope of a search: how many of each thing there may be. scopes.sh says what each search needs;
 * what it leaves out stays as small as can be. */

#define ANY 255 /* no bound */

#ifndef N
#define N 3 /* members of the fleet */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef GAP
#define GAP 1 /* how far apart the counters may be at first */
#endif
#ifndef DUPLICATES
#define DUPLICATES 0 /* messages (step 1, admission) that arrive twice */
#endif
#ifndef LEASES
#define LEASES 0 /* 1: clocks are trusted: no lock expires before the lease of its holder is over */
#endif
#ifndef EXPIRIES
#define EXPIRIES ANY /* locks that expire */
#endif
#ifndef EXTENSIONS
#define EXTENSIONS 0 /* holders that may extend their lease, once each; needs LEASES */
#endif
#ifndef ROUNDS
#define ROUNDS 0 /* rounds in which the client of attempt 0 extends, and may join more masters */
#endif
#ifndef ABOVE
#define ABOVE 0 /* 1: a round may name a token above the one that was granted */
#endif
#ifndef REVIVALS
#define REVIVALS 0 /* 1: a round may extend after its holder's lease is over */
#endif
#ifndef HEDGES
#define HEDGES 0 /* 1: an attempt asks a majority first, and the others when it likes */
#endif
#ifndef ONE_ASKS_FEW
#define ONE_ASKS_FEW 0 /* 1: attempt 0 asks the first q members alone, for which members have to be alike */
#endif
#ifndef HINTS
#define HINTS 0 /* step 1 may name any number up to this one as a hint */
#endif
#ifndef SURPLUS
#define SURPLUS 0 /* 1: after a grant its clean-up goes to the masters that were not counted */
#endif
#ifndef CLEANUPS
#define CLEANUPS 0 /* 1: attempts fail, and clean up after themselves */
#endif
#ifndef RELEASES
#define RELEASES 0 /* 1: holders release; needs CLEANUPS and LEASES */
#endif
#ifndef FORGETTINGS
#define FORGETTINGS 0 /* masters that lose everything */
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 0 /* 0 or 1: a master is put back to an older state of its own */
#endif
#ifndef OLDER_FILES
#define OLDER_FILES 0 /* restarts of member 0 from a copy of its file; a second from the newer one */
#endif
#ifndef DEATHS
#define DEATHS 0 /* servers that die, and have told a master what they saw; needs OLDER_FILES */
#endif
#ifndef RESTARTS
#define RESTARTS 0 /* durable masters that restart with all they had */
#endif
#ifndef REPLACEMENTS
#define REPLACEMENTS 0 /* 0 or 1: an empty machine takes a member's name; the old one lives on */
#endif
#ifndef HALF_WAY
#define HALF_WAY 0 /* 1: a durable master that restarted is trusted half-way through its import, too */
#endif
#ifndef LEADERS
#define LEADERS 0 /* rejoins that may be begun */
#endif
#ifndef PAGES_APART
#define PAGES_APART 0 /* 1: the counter and the lock of a master are read at different moments */
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 0 /* 1: time passes between the read of a page and its install */
#endif
#if !defined(LEADERS_AT_ONCE) || LEADERS < 2
#undef LEADERS_AT_ONCE
#define LEADERS_AT_ONCE 1 /* 2: another may take over, whether the first is dead or not */
#endif

#define FAILURES (FORGETTINGS + ROLLBACKS + OLDER_FILES + RESTARTS + REPLACEMENTS)
#if OLDER_FILES /* all restarts are of member 0 */
#define SECOND_FAILS FORGETTINGS
#else
#define SECOND_FAILS (FAILURES > 1)
#endif
#if LEADERS > 2 || (OLDER_FILES > 1 && (LEASES || HALF_WAY)) || (DEATHS && ATTEMPTS > 2) || \
    (OLDER_FILES && (ROLLBACKS || REPLACEMENTS))
#error "not in the model"
#endif

#if REPLACEMENTS
#define MACHINES (N + 1)
#else
#define MACHINES N
#endif
#define OLD_MACHINE N /* what was member 0 before it was replaced */

/* Which member a machine takes itself for. */
#define member(machine) ((machine) == OLD_MACHINE -> 0 : (machine))

/* Sets of members, or of anything else. */
#define bit(i) (1 << (i))
#define is_at(mask, machine) ((mask) & bit(member(machine)))
#define put_in(mask, machine) mask = mask | bit(member(machine))
#define take_out(mask, machine) mask = mask & ~bit(member(machine))
#define members_in(mask) \
    (((mask) & 1) + ((mask) >> 1 & 1) + ((mask) >> 2 & 1) + ((mask) >> 3 & 1) + ((mask) >> 4 & 1))
#define ALL_MEMBERS (bit(N) - 1)

/* Options of the main loop: EVENT for each thing it may happen to. A majority is a set of q. */
#if N == 3
#define Q 2
#define EACH_MEMBER(EVENT, who) EVENT(who, 0) EVENT(who, 1) EVENT(who, 2)
#define EACH_MAJORITY(EVENT, who) EVENT(who, 3) EVENT(who, 5) EVENT(who, 6)
#elif N == 5
#define Q 3
#define EACH_MEMBER(EVENT, who) \
    EVENT(who, 0) EVENT(who, 1) EVENT(who, 2) EVENT(who, 3) EVENT(who, 4)
#define EACH_MAJORITY(EVENT, who) \
    EVENT(who, 7) EVENT(who, 11) EVENT(who, 13) EVENT(who, 14) EVENT(who, 19) \
    EVENT(who, 21) EVENT(who, 22) EVENT(who, 25) EVENT(who, 26) EVENT(who, 28)
#endif

#if REPLACEMENTS
#define EACH_MACHINE(EVENT, who) EACH_MEMBER(EVENT, who) EVENT(who, OLD_MACHINE)
#else
#define EACH_MACHINE(EVENT, who) EACH_MEMBER(EVENT, who)
#endif

#define ONCE(EVENT, who) EVENT(who)
#if ATTEMPTS == 2
#define EACH_ATTEMPT(EACH, EVENT) EACH(EVENT, 0) EACH(EVENT, 1)
#elif ATTEMPTS == 3
#define EACH_ATTEMPT(EACH, EVENT) EACH(EVENT, 0) EACH(EVENT, 1) EACH(EVENT, 2)
#endif
#if ROUNDS == 1
#define EACH_ROUND(EACH, EVENT) EACH(EVENT, 0)
#elif ROUNDS == 2
#define EACH_ROUND(EACH, EVENT) EACH(EVENT, 0) EACH(EVENT, 1)
#endif
#if LEADERS == 1
#define EACH_LEADER(EACH, EVENT) EACH(EVENT, 0)
#elif LEADERS == 2
#define EACH_LEADER(EACH, EVENT) EACH(EVENT, 0) EACH(EVENT, 1)
#endif

#define PROMISES_EXCLUSION (LEASES || EXPIRIES == 0)

byte duplicates = DUPLICATES;
byte expiries = EXPIRIES;

byte i; /* of loops inside a step; 0 between steps */
