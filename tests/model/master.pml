/* A master: one counter (there is one slot), one lock, and the view it recorded. Each of its steps
 * is one script, so it happens at once. */

/* A view: three bits a member, its incarnation; 0 where unknown. A master's own stands in its own
 * view. */
#define VIEW short
#define incarnation(v, m) (((v) >> (3 * (m))) & 7)
#define with_incarnation(v, m, x) (((v) & ~(7 << (3 * (m)))) | ((x) << (3 * (m))))
#define FIRST_VIEW ((1 | 1 << 3 | 1 << 6 | 1 << 9 | 1 << 12) & ((1 << (3 * N)) - 1))

/* Who holds a lock: nobody; attempt a; or a lock id two of whose attempts met there. */
#define FREE 0
#define of(a) ((a) + 1)
#define STAR (ATTEMPTS + 1)

/* A master votes; or is out, and is sent nothing but a rejoin; or has the nonce of the leader that
 * claimed it. One that restarted with its data, verified durable, is still called active by its
 * marker, and would do what it is asked; but nobody asks: no connection outlives its process, and
 * on a new one servers see that the marker names another run. */
#define ACTIVE 0
#define OUT 1
#define joining(leader) (2 + (leader))
#define INTACT (2 + LEADERS)
#define keeping(leader) (3 + LEADERS + (leader)) /* intact, and claimed */
#define is_intact(m) (state[m] >= INTACT)

byte counter[MACHINES];
byte lock[MACHINES];
byte number[MACHINES]; /* of the lock: what its attempt was answered, later its token */
VIEW view[MACHINES];
byte state[MACHINES];

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
#define accepts(m, v) (state[m] == ACTIVE)
#else
#define accepts(m, v) (state[m] == ACTIVE && own_agrees(m, v) && !any_behind(m, v))
#endif

/* No clock is trusted: a lock expires whenever it likes. One that expired and was not taken since
 * might as well be there still, so locks expire just before they are taken. */
#define can_be_taken(m) (lock[m] == FREE || expiries > 0)

inline remove_lock(m)
{
    lock[m] = FREE;
    number[m] = 0
}
