/* SipHash-2-4: the values of its authors, and the key. */
#include "fence/base/keyed.h"
#include "tests/lib/case.h"

/* The key 00 01 .. 0f of the paper's appendix. */
static const uint64_t paper[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};

/* The bytes 00 01 .. of each length, from the reference implementation. */
static void hash_is_that_of_the_paper(void **state)
{
    static const unsigned char bytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    assert_true(fence_keyed_hash(bytes, 15, paper) == UINT64_C(0xa129ca6149be45e5));
    assert_true(fence_keyed_hash(bytes, 0, paper) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(fence_keyed_hash(bytes, 8, paper) == UINT64_C(0x93f5f5799a932462));
}

static void each_word_of_the_key_counts(void **state)
{
    const uint64_t other[2] = {paper[0], paper[1] + 1}, another[2] = {paper[0] + 1, paper[1]};
    const uint64_t hash = fence_keyed_hash("orders/42", 9, paper);
    assert_true(hash != fence_keyed_hash("orders/42", 9, other));
    assert_true(hash != fence_keyed_hash("orders/42", 9, another));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(hash_is_that_of_the_paper),
    cmocka_unit_test(each_word_of_the_key_counts),
};

CASE_MAIN(cases, NULL, NULL)
