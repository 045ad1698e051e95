#include "tests/contract/step.h"

/* clang-format off */

/* Every kind of request, one resource and several, each with the same reply. */
#define EACH_REQUEST(...) \
    {TAKE(B, 5), __VA_ARGS__}, \
    {TAKE(B, 5), .waits = true, __VA_ARGS__}, \
    {TAKE(A, 5), .again = true, __VA_ARGS__}, \
    {TAKE(B, 5), .on = "bc", __VA_ARGS__}, \
    {CONFIRM(A, 1, 9), __VA_ARGS__}, \
    {CONFIRM(A, 1, 9, 9), .on = "ab", __VA_ARGS__}, \
    {EXTEND(A, 9), __VA_ARGS__}, \
    {RELEASE(A), __VA_ARGS__}, \
    {UNDO(A, 1), __VA_ARGS__}, \
    {UNDO(A, 1), .on = "ab", __VA_ARGS__}, \
    {COUNT(5), __VA_ARGS__}, \
    {COUNT(0), HINT(20), __VA_ARGS__}, \
    {INSPECT, __VA_ARGS__}

/* The old lock stands there still, and nothing was counted. */
#define NOTHING_WAS_DONE \
    {INSPECT, HELD(A), .numbers = {1}}, \
    {TAKE(A, 1), .on = "c", NUMBER(2)}, \
    {COUNT(0), NO}

ROWS(refusing,
    ROW(view_below_the_masters_own_is_refused_and_told_what_is_known,
        {TAKE(A, 1), NUMBER(1)},
        EACH_REQUEST(.off = {0, -1, 0}, STALE),
        NOTHING_WAS_DONE),
    ROW(view_above_the_masters_own_is_refused,
        {TAKE(A, 1), NUMBER(1)},
        EACH_REQUEST(.off = {0, 1, 0}, STALE),
        NOTHING_WAS_DONE),
    ROW(view_below_what_is_known_of_another_is_refused,
        {TAKE(A, 1), NUMBER(1)},
        EACH_REQUEST(.off = {0, 0, -1}, STALE),
        NOTHING_WAS_DONE),
    ROW(view_with_one_member_above_and_another_below_is_refused_and_not_learnt,
        {TAKE(A, 1), .off = {1, 0, -1}, STALE},
        {FACTS, IS_ACTIVE},
        {TAKE(A, 1), NUMBER(1)}),
    ROW(view_that_knows_more_of_others_is_learnt,
        {TAKE(A, 1), .off = {2, 0, 3}, NUMBER(1)},
        {FACTS, IS_ACTIVE},
        {INSPECT, .off = {-1, 0, 0}, STALE},
        {INSPECT, HELD(A), .numbers = {1}}),
    ROW(request_that_does_nothing_teaches_the_view_too,
        {RELEASE(A), .off = {2, 0, 0}, NO},
        {INSPECT, .off = {-1, 0, 0}, STALE}),
    ROW_BLANK(blank_master_refuses_everything,
        EACH_REQUEST(REFUSED),
        {FACTS, IS_BLANK}),
    ROW_BLANK(joining_master_refuses_everything,
        {MARK(25), DONE},
        EACH_REQUEST(REFUSED),
        {FACTS, IS_JOINING(25)}),
    ROW(master_that_is_marked_anew_refuses_everything,
        {TAKE(A, 1), NUMBER(1)},
        {MARK(35), DONE},
        EACH_REQUEST(REFUSED)),
    ROW(master_that_forgot_refuses_everything_and_stays_blank,
        {TAKE(A, 1), NUMBER(1)},
        {FORGET},
        EACH_REQUEST(REFUSED),
        {FACTS, IS_BLANK}),
    ROW(master_of_another_place_refuses_everything,
        {TAKE(A, 1), NUMBER(1)},
        {HARM(RENUMBER)},
        EACH_REQUEST(REFUSED)),
    ROW(master_that_was_a_replica_refuses_everything,
        {TAKE(A, 1), NUMBER(1)},
        {HARM(FOLLOW)},
        EACH_REQUEST(REFUSED)),
    ROW(not_being_active_is_told_before_the_view,
        {MARK(35), DONE},
        {TAKE(A, 1), .off = {0, -1, 0}, REFUSED},
        {TAKE(A, 1), .off = {0, 10, 0}, REFUSED}),
    ROW_DURABLE(durable_master_votes_while_its_settings_are_so,
        {TAKE(A, 1), NUMBER(1)},
        {CONFIRM(A, 1, 3), YES}),
    ROW_SOFTENS(votes_of_a_durable_master_whose_settings_changed_are_lost,
        {TAKE(A, 1), NUMBER(1)},
        {HARM(SOFTEN)},
        {TAKE(A, 1), .on = "b", LOST}))
