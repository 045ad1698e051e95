/* The writes that the ledger itself accepted, in the order of its transactions: triggers put into
 * its database write it down within them. */
#ifndef TESTS_CHAOS_RECORD_H
#define TESTS_CHAOS_RECORD_H

#include "tests/chaos/history.h"

#include <stddef.h>

/* Puts the triggers into the database @path, which the ledger has open. Accounts are called by the
 * number of their name in the history. */
void record_install(const char *path);

/* Reads all that was recorded; the caller frees *@ret_entries. */
void record_read(const char *path, struct history_entry **ret_entries, size_t *ret_count);

#endif
