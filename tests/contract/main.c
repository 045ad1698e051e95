/* The table, on the kind of master that this executable is built with: a case for each row. */
#include "tests/contract/play.h"
#include "tests/lib/case.h"

#include <string.h>

enum {
    CASES_MAX = 400,
};

extern const struct contract_rows contract_taking, contract_confirming, contract_keeping,
    contract_groups, contract_again, contract_waiting, contract_refusing, contract_rejoining,
    contract_imported, contract_joining, contract_counting, contract_breaking, contract_positions,
    contract_gates, contract_closing, contract_next;

static void play_row(void **state)
{
    contract_play(&contract_ops, *state);
}

static size_t add(const struct contract_rows *rows, struct CMUnitTest *cases, size_t count)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct contract_row *row = &rows->rows[i];
        if ((row->by_hand && !contract_ops.has_keys) ||
            (row->positions && !contract_ops.has_positions) ||
            (row->softens && !contract_ops.has_settings))
            continue;
        assert_in_range(count, 0, CASES_MAX - 1);
        cases[count++] = (struct CMUnitTest){
            .name = row->name, .test_func = play_row, .initial_state = (void *)row};
    }
    return count;
}

int main(int argc, char **argv)
{
    static const struct contract_rows *const all[] = {
        &contract_taking,    &contract_confirming, &contract_keeping,  &contract_groups,
        &contract_again,     &contract_waiting,    &contract_refusing, &contract_rejoining,
        &contract_imported,  &contract_joining,    &contract_counting, &contract_breaking,
        &contract_positions, &contract_gates,      &contract_closing,  &contract_next,
    };
    static struct CMUnitTest cases[CASES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        count = add(all[i], cases, count);
    int status = case_select(argc, argv, cases, count);
    if (status != CASE_RUN)
        return status;
    return case_status(_cmocka_run_group_tests("contract", cases, count, NULL, NULL));
}
