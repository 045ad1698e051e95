/* The programs of this project, run by tests as anybody would run them. */
#ifndef TESTS_LIB_PAWL_H
#define TESTS_LIB_PAWL_H

#include "tests/lib/redis_fleet.h"

#include <stdint.h>

struct process;

/* A service that runs, and where. */
struct pawl_service {
    struct process *process; /* end it with process_stop() or process_kill() */
    uint16_t port;           /* on 127.0.0.1 */
};

/* The path of the program @name ("pawld", "pawl-ledger"): in the folder that the build gave, or in
 * $PAWL_BIN_DIR. The caller frees it. */
char *pawl_program(const char *name);

/* The path of the file @name beside the program that runs. The caller frees it. */
char *pawl_beside(const char *name);

/* Runs `pawld init` for the masters of @fleet with @options (ended by NULL: "--new", ...) and
 * returns its exit status; what it wrote is in init.log in the fleet's folder. */
int pawl_init(struct redis_fleet *fleet, const char *const options[]);

/* `pawld init --new`, which has to succeed. */
void pawl_init_new(struct redis_fleet *fleet);

/* Starts pawld over the masters of @fleet, on a free port, with one worker unless @options say
 * otherwise (more options, ended by NULL; NULL: none). It listens when this returns, but may not
 * know its masters yet: pawl_wait_ready(). */
struct pawl_service pawld_start(struct redis_fleet *fleet, const char *const options[]);

/* The same on @port: of one that was killed, say. */
struct pawl_service pawld_start_on(struct redis_fleet *fleet, uint16_t port,
                                   const char *const options[]);

/* pawld_start() without masters: it serves from the folder @folder. Its output goes to @folder with
 * ".log" appended. */
struct pawl_service pawld_start_at(const char *folder, const char *const options[]);

/* Runs pawld, or @command of it ("init"; NULL: none), for @folder, as somebody who expects it to
 * end. Returns its exit status; what it wrote, and nothing else, is in the file @log. */
int pawld_run_at(const char *command, const char *folder, const char *const options[],
                 const char *log);

/* Waits until /readyz says yes, as many seconds as a slow machine may take. */
void pawl_wait_ready(struct pawl_service service);

/* The usual start of a test: pawl_init_new(), pawld_start() and pawl_wait_ready(). */
struct pawl_service pawld_start_new(struct redis_fleet *fleet);

/* Starts the ledger over the database file @db, on a free port; what it writes goes to @db with
 * ".log" appended. It listens when this returns. */
struct pawl_service pawl_ledger_start(const char *db, const char *const options[]);

#endif
