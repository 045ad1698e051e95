/* The resource that the locks protect: a number that clients read, add 1 to and write back. It
 * keeps the guard rule (fence/guard/guard.h), and knows whether an update was ever lost. */
#ifndef TESTS_SIM_PROMISES_ACCOUNT_H
#define TESTS_SIM_PROMISES_ACCOUNT_H

#include "fence/guard/guard.h"

struct sim_account {
    int64_t highest; /* token */
    int64_t value;
    int64_t accepted; /* writes: each added 1, so equal to @value unless one was lost */
};

/* Claims with @token, then reads. FENCE_ESTALE: the account has seen a higher token. */
FENCE_CHECKED int sim_account_claim(struct sim_account *account, int64_t token, int64_t *ret_value);

/* Writes @value under @token. FENCE_ESTALE: as above, and nothing is written. */
FENCE_CHECKED int sim_account_write(struct sim_account *account, int64_t token, int64_t value);

#endif
