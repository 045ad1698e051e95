/* A master: one counter (there is one slot), one lock, and the view it recorded. Each of its steps
 * is one script, so it happens at once. */

/* A view: three bits a member, its incarnation; 0 where unknown. A master's own stands in its own
 * view. */
#define VIEW short
#define incarnation(v, m) (((v) >> (3 * (m))) & 7)
#define with_incarnation(v, m, x) (((v) & ~(7 << (3 * (m)))) | ((x) << (3 * (m))))
#define FIRST_VIEW ((1 | 1 << 3 | 1 << 6 | 1 << 9 | 1 << 12) & ((1 << (3 * N)) - 1))

/* Who holds a lock: nobody; attempt a; a lock id two of whose attempts met there, or that extended
 * it; a tombstone, which is nobody's and blocks everybody; or a round that joined there. */
#define FREE 0
#define of(a) ((a) + 1)
#define STAR (ATTEMPTS + 1)
#define TOMBSTONE (ATTEMPTS + 2)
#define joined(r) (ATTEMPTS + 3 + (r)) /* by round r of the client of attempt 0 */

/* One client is told from the others: it may try again, and extend. */
#ifdef SAME_LOCK_ID
#define is_of_first_client(a) ((a) < 2)
#define is_by_first_client(l) ((l) == of(0) || (l) == of(1) || (l) == STAR || (l) > TOMBSTONE)
#elif ROUNDS
#define is_of_first_client(a) ((a) == 0)
#define is_by_first_client(l) ((l) == of(0) || (l) == STAR || (l) > TOMBSTONE)
#else
#define is_of_first_client(a) false
#define is_by_first_client(l) false
#endif

/* A master votes; or is blank, without a marker; or is joining, its new incarnation the nonce. */
#define ACTIVE 0
#define OUT 1
#define joining(x) (x) /* from 2 on: no member is joining as the first incarnation */

/* What a master's lineage is to its marker: the same; new since a restart that lost nothing, under
 * the contract of durable members; or new, whatever was lost. */
#define KEPT 0
#define RESTARTED 1
#define CHANGED 2

byte counter[MACHINES];
byte lock[MACHINES];
byte number[MACHINES]; /* of the lock: what its attempt was answered, later its token */
byte origin[MACHINES]; /* of the lock: 0 if taken here, else IMPORTED and a bit a source */
VIEW view[MACHINES];
byte state[MACHINES];
byte lineage[MACHINES];
#if HALF_WAY
bool keeps[MACHINES]; /* it is joining, and kept all it knew */
#endif
#if LEASES
byte lease[MACHINES]; /* the leases that have to be over before the lock expires, a bit each */
#endif

#define IMPORTED bit(N)

/* Rule: a lock counts for its holder where it was taken, or where its copies came from q masters
 * where it counted. */
#define counts(m) \
    (lock[m] != TOMBSTONE && \
     (origin[m] == 0 || members_in(origin[m] & ALL_MEMBERS) >= Q))

/* Rule: a master refuses a script that names another incarnation of its own, or a lower one of any
 * other member than it has recorded. Where one is higher the sender knows more: from then on the
 * master knows it, too. */
#define own(m, v) incarnation(v, member(m))
#define adopted(m, v) with_incarnation(v, member(m), own(m, view[m]))
#if defined(MUTANT_NO_OWN_CHECK)
#define own_agrees(m, v) true
#elif defined(MUTANT_OWN_ADOPTED)
#define own_agrees(m, v) (own(m, v) >= own(m, view[m]))
#undef adopted
#define adopted(m, v) (v)
#else
#define own_agrees(m, v) (own(m, v) == own(m, view[m]))
#endif
#define is_behind(m, v, other) \
    ((other) < N && (other) != member(m) && incarnation(v, other) < incarnation(view[m], other))
#define any_behind(m, v) \
    (is_behind(m, v, 0) || is_behind(m, v, 1) || is_behind(m, v, 2) || is_behind(m, v, 3) || \
     is_behind(m, v, 4))
#ifdef MUTANT_NO_VIEW_CHECK
#define view_fits(m, v) true
#else
#define view_fits(m, v) (own_agrees(m, v) && !any_behind(m, v))
#endif

/* Rule: a master whose lineage is not its marker's refuses everything but a new mark. */
#define is_active(m) (state[m] == ACTIVE && lineage[m] == KEPT)
#define accepts(m, v) (is_active(m) && view_fits(m, v))
#ifdef MUTANT_LINEAGE_UNCHECKED_IN_TAKE
#define accepts_take(m, v) (state[m] == ACTIVE && view_fits(m, v))
#else
#define accepts_take(m, v) accepts(m, v)
#endif
#ifdef MUTANT_LINEAGE_UNCHECKED_IN_READ
#define is_read_active(m) (state[m] == ACTIVE)
#else
#define is_read_active(m) is_active(m)
#endif

/* Where no clock is trusted, a lock expires whenever it likes; else when its leases are over. One
 * that expired and was not taken since might as well be there still, so locks expire just before
 * they are taken, or before a page with them is read. */
#define may_expire(m) (lock[m] != FREE && expiries > 0)
#define can_be_taken(m) (lock[m] == FREE || may_expire(m))

inline remove_lock(m)
{
    lock[m] = FREE;
    number[m] = 0;
    origin[m] = 0;
#if LEASES
    lease[m] = 0;
#endif
}

inline expire(m)
{
    printf("master %d: the lock expires\n", m);
#if LEASES
    end_leases(m);
#endif
    remove_lock(m);
    rest_if_settled();
    expiries = (EXPIRIES == ANY -> ANY : expiries - 1)
}
