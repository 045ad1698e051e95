#include "api/mhd/deadlines.h"
#include "tests/lib/case.h"

#include <stddef.h>

enum {
    HEAD_MS = 10000,
    BODY_MS = 30000,
    BEGIN_MS = 1000000,
};

static struct api_deadlines deadlines;
static struct api_deadline one, two;

static int setup(void **state)
{
    (void)state;
    api_deadlines_init(&deadlines, HEAD_MS, BODY_MS);
    api_deadline_init(&one);
    api_deadline_init(&two);
    return 0;
}

static void longest_wait_is_due_first_and_not_before_its_limit(void **state)
{
    api_deadline_set(&deadlines, &one, API_CONNECTION_HEAD, BEGIN_MS);
    api_deadline_set(&deadlines, &two, API_CONNECTION_HEAD, BEGIN_MS + 1);
    assert_null(api_deadlines_due(&deadlines, API_CONNECTION_HEAD, BEGIN_MS + HEAD_MS - 1));
    assert_ptr_equal(api_deadlines_due(&deadlines, API_CONNECTION_HEAD, BEGIN_MS + HEAD_MS), &one);
    api_deadline_clear(&deadlines, &one);
    assert_null(api_deadlines_due(&deadlines, API_CONNECTION_HEAD, BEGIN_MS + HEAD_MS));
    assert_ptr_equal(api_deadlines_due(&deadlines, API_CONNECTION_HEAD, BEGIN_MS + HEAD_MS + 1),
                     &two);
}

static void wait_that_begins_again_goes_behind_the_others(void **state)
{
    api_deadline_set(&deadlines, &one, API_CONNECTION_BODY, BEGIN_MS);
    api_deadline_set(&deadlines, &two, API_CONNECTION_BODY, BEGIN_MS + 1);
    api_deadline_set(&deadlines, &one, API_CONNECTION_BODY, BEGIN_MS + 2);
    assert_ptr_equal(api_deadlines_older(&deadlines, API_CONNECTION_BODY, 0, BEGIN_MS + 2), &two);
}

static void timeout_is_that_of_the_next_limit_whatever_its_wait(void **state)
{
    assert_int_equal(api_deadlines_timeout_ms(&deadlines, BEGIN_MS), -1);
    api_deadline_set(&deadlines, &one, API_CONNECTION_BODY, BEGIN_MS);
    assert_int_equal(api_deadlines_timeout_ms(&deadlines, BEGIN_MS), BODY_MS);
    api_deadline_set(&deadlines, &two, API_CONNECTION_LINGER, BEGIN_MS + 500);
    assert_int_equal(api_deadlines_timeout_ms(&deadlines, BEGIN_MS + 500),
                     API_CONNECTION_LINGER_MS);
    assert_int_equal(api_deadlines_timeout_ms(&deadlines, BEGIN_MS + 5000), 0);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest cases[] = {
    CASE(longest_wait_is_due_first_and_not_before_its_limit),
    CASE(wait_that_begins_again_goes_behind_the_others),
    CASE(timeout_is_that_of_the_next_limit_whatever_its_wait),
};

CASE_MAIN(cases, NULL, NULL)
