#include "tests/sim/promises/account.h"

int sim_account_claim(struct sim_account *account, int64_t token, int64_t *ret_value)
{
    int error = fence_guard_judge(account->highest, token, &account->highest);
    if (error)
        return error;
    *ret_value = account->value;
    return 0;
}

int sim_account_write(struct sim_account *account, int64_t token, int64_t value)
{
    int error = fence_guard_judge(account->highest, token, &account->highest);
    if (error)
        return error;
    account->value = value;
    account->accepted++;
    return 0;
}
