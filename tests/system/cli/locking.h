/* `pawl lock` over a pawld, as a person or cron runs it. One thread. */
#ifndef TESTS_SYSTEM_CLI_LOCKING_H
#define TESTS_SYSTEM_CLI_LOCKING_H

#include "tests/system/workdir.h"

struct process;

enum {
    LOCKING_PATIENCE_MS = 20000,
    LOCKING_PATH_BYTES = 256,
    LOCKING_SCRIPT_BYTES = 2048,
};

/* A shell's words: it writes its start, its deadline and, while it runs, the time, in hundredths of
 * a second of the boot clock. It ignores SIGTERM. */
#define LOCKING_STAMPER                                                                            \
    "trap '' TERM; stamp() { read -r up rest </proc/uptime; echo ${up%.*}${up#*.} >>stamps; }; "   \
    "stamp; echo $PAWL_DEADLINE_MS >left; while :; do stamp; sleep 0.02; done"

/* A pawld of the case, and the environment that scripts find: PAWL is the program, DIR the folder
 * of the case, PAWL_SERVER the pawld. The output of processes is in workdir.said. */
struct locking {
    char *pawl;
    struct pawl_service service;
};

extern struct locking locking;

/* Setup and teardown of a case. */
int locking_begin(void **state);
int locking_end(void **state);

/* Runs @script in the shell, in the folder of the case. Returns its exit status. */
int locking_shell(const char *script);

/* Starts `pawl lock --ttl @ttl NAME -- sh -c @script`. Its process is pawl itself. */
struct process *locking_start(const char *ttl, const char *name, const char *script);

/* Kills pawld and starts it again on the same port. */
void locking_restart_pawld(void);

/* The text of the file @name in the folder of the case. The caller frees it. */
char *locking_text(const char *name);

/* Fails the test unless the file @name has the text @expected. */
void locking_expect_text(const char *name, const char *expected);

/* Fails the test unless @words are in the file @name. */
void locking_expect_words(const char *name, const char *words);

/* Waits for a line in the file @name, and returns its number. */
long locking_number(const char *name);

/* Waits until the process ends whose id the file @name has. */
void locking_expect_end_of(const char *name);

/* Fails the test unless the last time that LOCKING_STAMPER wrote is before its deadline. */
void locking_expect_ended_in_time(void);

#endif
