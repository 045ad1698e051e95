/* Plays a row of the table on a master. */
#ifndef TESTS_CONTRACT_PLAY_H
#define TESTS_CONTRACT_PLAY_H

#include "tests/contract/step.h"

/* Fails the test that calls it where the master says something else than the row. */
void contract_play(const struct contract_ops *ops, const struct contract_row *row);

#endif
