#include "tests/contract/guards/owner.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"

#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WORDS_MAX = 40,
    RUN_MS = 60000,
};

/* setpriv keeps the bond that ends a process with its test, as the program is its own parent's. */
struct command {
    char user[64], group[64];
    const char *words[WORDS_MAX];
};

static void command_of(const char *user, const char *const argv[], struct command *ret_command)
{
    size_t count = 0;
    if (geteuid() == 0) {
        snprintf(ret_command->user, sizeof(ret_command->user), "--reuid=%s", user);
        snprintf(ret_command->group, sizeof(ret_command->group), "--regid=%s", user);
        ret_command->words[count++] = "setpriv";
        ret_command->words[count++] = ret_command->user;
        ret_command->words[count++] = ret_command->group;
        ret_command->words[count++] = "--clear-groups";
        ret_command->words[count++] = "--pdeathsig=KILL";
        ret_command->words[count++] = "--";
    }
    for (size_t i = 0; argv[i]; i++) {
        assert_in_range(count, 0, WORDS_MAX - 2);
        ret_command->words[count++] = argv[i];
    }
    ret_command->words[count] = NULL;
}

int owner_run(const char *user, const char *const argv[], const char *log_path)
{
    struct command command;
    command_of(user, argv, &command);
    return process_run(command.words, log_path, RUN_MS);
}

struct process *owner_start(const char *user, const char *const argv[], const char *log_path)
{
    struct command command;
    command_of(user, argv, &command);
    return process_start(command.words, log_path);
}

void owner_folder(const char *user, const char *dir, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", dir, name);
    assert_int_equal(chmod(dir, 0711), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    if (geteuid() != 0)
        return;
    const struct passwd *found = getpwnam(user);
    if (found)
        assert_int_equal(chown(path, found->pw_uid, found->pw_gid), 0);
    else
        fail_msg("there is no user %s", user);
}
