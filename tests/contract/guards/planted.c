/* Starts a real server, and has a script attack the install of its guard with what a stranger
 * planted: planted_postgresql.py, planted_mariadb.py.
 *
 *     guards_planted postgresql | postgresql_18 | mariadb [--each] */
#include "tests/contract/guards/mariadb.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ATTACK_MS = 3600000, /* all names, one by one; CTest has its own bound */
    SKIPPED = 77,
};

static int attack(const struct guard_server *server, const char *option)
{
    char at[MARIADB_PATH_MAX], log[MARIADB_PATH_MAX];
    const bool is_mariadb = server->kind == &guard_mariadb;
    if (is_mariadb)
        mariadb_socket(server, at);
    else
        snprintf(at, sizeof(at), "%s/run", server->dir);
    snprintf(log, sizeof(log), "%s/attack", server->dir);
    const char *const argv[] = {"/usr/bin/python3",
                                is_mariadb ? "tests/contract/guards/planted_mariadb.py"
                                           : "tests/contract/guards/planted_postgresql.py",
                                at, option, NULL};
    const int status = process_run(argv, log, ATTACK_MS);
    char *told = text_read(log, 0);
    fputs(told, stdout);
    free(told);
    return status;
}

int main(int argc, char **argv)
{
    const struct guard_kind *kind = guard_find(argc > 1 ? argv[1] : "");
    if (!kind || !kind->has_server) {
        fprintf(stderr, "usage: guards_planted KIND [--each]\n");
        return 2;
    }
    if (kind->missing()) {
        printf("skipped: %s\n", kind->missing());
        return SKIPPED;
    }
    struct guard_server *server = guard_server_new(kind);
    const int status = attack(server, argc > 2 ? argv[2] : NULL);
    guard_server_free(server);
    process_kill_all();
    return status;
}
