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

#define is_open(a) (phase[a] != GRANTED && phase[a] != FAILED && !is_dead(a))
#if LEASES
#define may_be_granted(a) (is_open(a) && (leases_over & bit(a)) == 0)
#else
#define may_be_granted(a) is_open(a)
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

/* Where clocks are trusted, an extension is checked, too. */
inline rest_if_settled()
{
#if ROUNDS && LEASES
    over = is_settled() && !may_be_extended()
#else
    over = is_settled()
#endif
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

/* Of extensions. An extended lock is its holder's alone. P5: one who is told that the lock is lost
 * does not hold it under that token. Where others were past it, it never does again. That rests on
 * clocks, too. */
#if ROUNDS && LEASES
#define holds_under(a, limit) \
    (phase[a] == GRANTED && !is_over(first_lease(a)) && token[a] <= (limit))
#define holds_on_under(r, limit) (holds_by(r) && round_token[r] <= (limit))

/* Only a later grant of the same client may be extended after that, whatever token is named. */
#ifdef SAME_LOCK_ID
#define is_lost_for_good(r) (round_token[r] <= lost)
#else
#define is_lost_for_good(r) (lost != 0)
#endif

inline check_extended(r)
{
    assert(!is_lost_for_good(r));
    other = 0;
    do
    :: other == ATTEMPTS -> break
    :: other < ATTEMPTS && !is_of_first_client(other) ->
        assert(!holds(other));
        other++
    :: else -> other++
    od;
    other = 0
}

inline check_lost(r)
{
    assert(!holds_under(0, round_token[r]));
#ifdef SAME_LOCK_ID
    assert(!holds_under(1, round_token[r]));
#endif
    assert(!holds_on_under(0, round_token[r]));
    assert(!holds_on_under(ROUNDS - 1, round_token[r]));
    if
    :: others_are_past(r) && lost < round_token[r] -> lost = round_token[r]
    :: else
    fi
}
#endif

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
