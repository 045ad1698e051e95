/* What a server may have learned of the view. */

byte issued[2]; /* incarnations given out so far, as bits, of the two members that may fail */

#define guess(ret_view, m) \
    if \
    :: ret_view = with_incarnation(ret_view, m, 1) \
    :: (issued[m] & bit(2)) -> ret_view = with_incarnation(ret_view, m, 2) \
    :: (issued[m] & bit(3)) -> ret_view = with_incarnation(ret_view, m, 3) \
    fi

/* Anything: of each member any incarnation that was ever given out. That is more than servers can
 * piece together, so the rules need nothing of how they learn. */
inline learn(ret_view)
{
    ret_view = FIRST_VIEW;
    guess(ret_view, 0);
    guess(ret_view, 1)
}
