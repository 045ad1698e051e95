/* A server of MariaDB with its own files. It listens on a Unix socket alone. */
#include "tests/contract/guards/mariadb.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAKE_TIMEOUT_MS = 60000,
    START_TIMEOUT_MS = 30000,
    RUN_TIMEOUT_MS = 30000,
};

struct mariadb_server {
    struct process *process;
    char log[MARIADB_PATH_MAX];
};

/* Users other than root often have no sbin in their $PATH. */
static bool find_program(const char *name, char path[static MARIADB_PATH_MAX])
{
    static const char *const dirs[] = {"/usr/bin", "/usr/sbin", "/usr/local/bin",
                                       "/usr/local/sbin"};
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        snprintf(path, MARIADB_PATH_MAX, "%s/%s", dirs[i], name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

const char *mariadb_missing(void)
{
    static const char *const programs[] = {"mariadbd", "mariadb-install-db", "mariadb"};
    char path[MARIADB_PATH_MAX];
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (!find_program(programs[i], path))
            return "MariaDB is not installed: scripts/setup does it";
    return NULL;
}

static void option(char text[static MARIADB_PATH_MAX], const char *name,
                   const struct guard_server *server, const char *file)
{
    snprintf(text, MARIADB_PATH_MAX, "--%s=%s/%s", name, server->dir, file);
}

/* A server that starts deletes all temporary tables in this folder. In a shared one, those of its
 * neighbours would be among them. */
static void tmp_option(const struct guard_server *server, char text[static MARIADB_PATH_MAX])
{
    snprintf(text, MARIADB_PATH_MAX, "--tmpdir=%s", server->dir);
}

/* The server refuses to run as root where this option does not say so. */
static void user_option(char text[static MARIADB_PATH_MAX])
{
    const struct passwd *user = getpwuid(geteuid());
    assert_non_null(user);
    snprintf(text, MARIADB_PATH_MAX, "--user=%s", user->pw_name);
}

void mariadb_socket(const struct guard_server *server, char path[static MARIADB_PATH_MAX])
{
    snprintf(path, MARIADB_PATH_MAX, "%s/socket", server->dir);
}

static void make_files(const struct guard_server *server)
{
    const struct mariadb_server *mariadb = server->of_kind;
    char program[MARIADB_PATH_MAX], user[MARIADB_PATH_MAX], data[MARIADB_PATH_MAX],
        tmp[MARIADB_PATH_MAX];
    assert_true(find_program("mariadb-install-db", program));
    tmp_option(server, tmp);
    user_option(user);
    option(data, "datadir", server, "data");
    const char *const argv[] = {
        program,
        "--no-defaults",
        user,
        data,
        tmp,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--skip-name-resolve",
        NULL,
    };
    struct process *process = process_start(argv, mariadb->log);
    process_wait_line(process, "^OK$", MAKE_TIMEOUT_MS, NULL, 0);
    assert_int_equal(process_wait(process, MAKE_TIMEOUT_MS), 0);
}

void mariadb_server_spawn_with(struct guard_server *server, const char *extra)
{
    struct mariadb_server *mariadb = server->of_kind;
    char program[MARIADB_PATH_MAX], user[MARIADB_PATH_MAX], data[MARIADB_PATH_MAX],
        socket[MARIADB_PATH_MAX], pid[MARIADB_PATH_MAX], tmp[MARIADB_PATH_MAX];
    assert_null(mariadb->process);
    assert_true(find_program("mariadbd", program));
    user_option(user);
    option(data, "datadir", server, "data");
    option(socket, "socket", server, "socket");
    option(pid, "pid-file", server, "pid");
    tmp_option(server, tmp);
    const char *const argv[] = {
        program,
        "--no-defaults",
        user,
        data,
        socket,
        pid,
        tmp,
        "--skip-networking",
        "--skip-name-resolve",
        "--innodb-flush-log-at-trx-commit=1",
        "--innodb-lock-wait-timeout=10",
        "--lock-wait-timeout=10",
        "--key-buffer-size=1M",
        extra,
        NULL,
    };
    mariadb->process = process_start(argv, mariadb->log);
    process_wait_line(mariadb->process, "ready for connections", START_TIMEOUT_MS, NULL, 0);
}

void mariadb_server_spawn(struct guard_server *server)
{
    mariadb_server_spawn_with(server, NULL);
}

void mariadb_server_start(struct guard_server *server)
{
    struct mariadb_server *mariadb = calloc(1, sizeof(*mariadb));
    assert_non_null(mariadb);
    server->of_kind = mariadb;
    snprintf(mariadb->log, sizeof(mariadb->log), "%s/log", server->dir);
    make_files(server);
    mariadb_server_spawn(server);
}

void mariadb_server_kill(struct guard_server *server)
{
    struct mariadb_server *mariadb = server->of_kind;
    process_kill(mariadb->process);
    mariadb->process = NULL;
}

void mariadb_server_stop(struct guard_server *server)
{
    mariadb_server_kill(server);
    free(server->of_kind);
    server->of_kind = NULL;
}

static int run_file(const struct guard_server *server, const char *database, const char *file,
                    const char *log)
{
    char program[MARIADB_PATH_MAX], socket[MARIADB_PATH_MAX];
    assert_true(find_program("mariadb", program));
    option(socket, "socket", server, "socket");
    const char *const argv[] = {
        "/bin/sh",
        "-c",
        "file=$1; shift; exec \"$@\" <\"$file\"",
        "sh",
        file,
        program,
        "--no-defaults",
        socket,
        "--user=root",
        "--batch",
        "--raw",
        database,
        NULL,
    };
    return process_run(argv, log, RUN_TIMEOUT_MS);
}

int mariadb_install(const struct guard_server *server, const char *database)
{
    const struct mariadb_server *mariadb = server->of_kind;
    return run_file(server, database, "storage/guard/mariadb/pawl_guard.sql", mariadb->log);
}

char *mariadb_told(const struct guard_server *server, const char *database, const char *file)
{
    char log[MARIADB_PATH_MAX];
    snprintf(log, sizeof(log), "%s/told", server->dir);
    (void)unlink(log); /* log of the call before */
    const int status = run_file(server, database, file, log);
    char *told = text_read(log, 0);
    if (status != 0)
        fail_msg("%s: %s", file, told);
    return told;
}
