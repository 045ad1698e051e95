/* What is promised of the attempts that are granted, checked as each one is.
 *
 * P1: tokens are distinct, and higher than those of all grants that ended before the attempt began.
 * Two attempts of one client under one lock id are one holder, which never gets a lower token.
 * P2: no attempt is granted while another lock id holds. P2 rests on clocks, so it is checked where
 * no lock expires, or where none does before its lease is over. */

#define IDLE 0
#define ASKING 1     /* step 1 was sent to all */
#define CONFIRMING 2 /* the token is fixed, and the set that may confirm it frozen */
#define GRANTED 3
#define FAILED 4     /* or released */

/* State of the one process, not global: so Spin can store this half of a state and the masters'
 * half apart, each once, in half the memory. */
#define PROMISE_STATE \
    byte phase[ATTEMPTS]; \
    byte token[ATTEMPTS]; \
    byte before[ATTEMPTS]; /* attempts that had been granted when it began */

bool over; /* no more can be granted: what comes after that matters to nobody */

byte other; /* 0 between steps */

#ifdef SAME_LOCK_ID /* attempts 0 and 1 are one client's, which tries again */
#define same_id(a, b) ((a) < 2 && (b) < 2)
#else
#define same_id(a, b) false
#endif

#if LEASES
#define may_be_granted(a) \
    (phase[a] != GRANTED && phase[a] != FAILED && (leases_over & bit(a)) == 0)
#else
#define may_be_granted(a) (phase[a] != GRANTED && phase[a] != FAILED)
#define holds(a) (phase[a] == GRANTED)
#endif
#if ATTEMPTS == 2
#define is_settled() (!may_be_granted(0) && !may_be_granted(1))
#else
#define is_settled() (!may_be_granted(0) && !may_be_granted(1) && !may_be_granted(2))
#endif

/* A token that was granted is checked against for good, after its holder released it, too. */
#if RELEASES
byte released; /* attempts */
#define was_granted(a) (phase[a] == GRANTED || (released & bit(a)))
#else
#define was_granted(a) (phase[a] == GRANTED)
#endif

inline rest_if_settled()
{
    over = is_settled()
}

inline check_against(a, earlier)
{
    if
    :: same_id(a, earlier) ->
        assert(!(before[a] & bit(earlier)) || token[earlier] <= token[a])
    :: else ->
        assert(token[earlier] != token[a]);
        assert(!(before[a] & bit(earlier)) || token[earlier] < token[a]);
        assert(!PROMISES_EXCLUSION || !holds(earlier))
    fi
}

inline grant(a)
{
    printf("attempt %d: granted token %d\n", a, token[a]);
    other = 0;
    do
    :: other == ATTEMPTS -> break
    :: other < ATTEMPTS && other != a && was_granted(other) ->
        check_against(a, other);
        other++
    :: else -> other++
    od;
    other = 0;
    before[a] = 0;
    phase[a] = GRANTED;
    rest_if_settled()
}

inline remember_grants(a)
{
    i = 0;
    do
    :: i == ATTEMPTS -> break
    :: i < ATTEMPTS && was_granted(i) -> before[a] = before[a] | bit(i); i++
    :: else -> i++
    od;
    i = 0
}
