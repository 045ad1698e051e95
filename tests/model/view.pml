/* What servers may have learned of the view, and what masters learn from them. */

byte issued[2]; /* incarnations given out so far, as bits, of the two members that may fail */
#define is_now(m) incarnation(view[m], member(m)) /* of the machine's own */

#define guess(ret_view, m) \
    if \
    :: ret_view = with_incarnation(ret_view, m, 1) \
    :: (issued[m] & bit(2)) -> ret_view = with_incarnation(ret_view, m, 2) \
    :: (issued[m] & bit(3)) -> ret_view = with_incarnation(ret_view, m, 3) \
    :: (issued[m] & bit(4)) -> ret_view = with_incarnation(ret_view, m, 4) \
    fi

/* Anything: of each member any incarnation that was ever given out. That is more than servers can
 * piece together, so the rules need nothing of how they learn. */
inline learn(ret_view)
{
    ret_view = FIRST_VIEW;
    guess(ret_view, 0);
    guess(ret_view, 1)
}

/* Any script whatever (a clean-up, a look at a lock that is held) tells the master that accepts it
 * what its sender knows. So does a record whose reply is lost. */
#define may_tell(m, whose, x) \
    (!over && is_active(m) && (whose) != member(m) && (issued[whose] & bit(x)) && \
     incarnation(view[m], whose) < (x))

inline tell(m, whose, x)
{
    printf("master %d: is told incarnation %d of member %d\n", m, x, whose);
    act_of_view(m, with_incarnation(view[m], whose, x));
    view[m] = with_incarnation(view[m], whose, x)
}

#define IS_TOLD_2(whose, m) :: d_step { may_tell(m, whose, 2) -> tell(m, whose, 2) }
#define IS_TOLD_3(whose, m) :: d_step { may_tell(m, whose, 3) -> tell(m, whose, 3) }
