/* A holder of locks that forks, with the client for C: see holder.py, whose input and output it
 * has. usage: holder KIND DIRECT_URL */
#include "api/client/pawl.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LINE_MAX_LEN = 400,
    FOUND_MAX = 1000,
    TTL_MS = 30000,
    DUE_MS = TTL_MS * 2 / 3 - 500, /* an extension is due with so little left */
    SOON_MS = TTL_MS * 2 / 3 + 150,
    EXTENDED_LEAST_MS = TTL_MS * 2 / 3 + 500, /* the state only after one */
    EXTENDED_MS = 10000,
    CALL_MS = 20000, /* a child is waited for in the middle of one */
    WORKERS = 2,
    STEP_US = 1000,
};

struct call {
    pthread_t thread;
    int error;
    bool released;
};

struct round {
    char moment[LINE_MAX_LEN];
    char name[LINE_MAX_LEN];
    bool calls; /* the child makes each call */
    pawl_client *client;
    pawl_lock *lock;
    pawl_renewer *renewer;
    struct call call; /* call of a thread, that is under way during the fork */
    char found[FOUND_MAX];
};

static const char *direct_url;
static int64_t child_ms;

/* Byte by byte: a child that reads on gets all that was not read. */
static void read_line(char ret_line[static LINE_MAX_LEN])
{
    size_t len = 0;
    for (;;) {
        char byte;
        if (read(STDIN_FILENO, &byte, 1) != 1 || len + 1 == LINE_MAX_LEN)
            _exit(EXIT_SUCCESS);
        if (byte == '\n')
            break;
        ret_line[len++] = byte;
    }
    ret_line[len] = '\0';
}

static void wait_for_line(void)
{
    char line[LINE_MAX_LEN];
    read_line(line);
}

static void tell(const char *who, const char *found)
{
    char line[FOUND_MAX + LINE_MAX_LEN];
    const int len = snprintf(line, sizeof(line), "%s %s\n", who, found[0] != '\0' ? found : "ok");
    if (write(STDOUT_FILENO, line, (size_t)len) != len)
        _exit(EXIT_FAILURE);
}

static void find(struct round *round, const char *what)
{
    const size_t len = strlen(round->found);
    (void)snprintf(round->found + len, sizeof(round->found) - len, "%s%s", len > 0 ? "; " : "",
                   what);
}

static void expect_forked(struct round *round, const char *what, int error)
{
    char sentence[LINE_MAX_LEN];
    if (strcmp(pawl_error_name(error), "forked") == 0)
        return;
    (void)snprintf(sentence, sizeof(sentence), "%s: %s", what, pawl_error_name(error));
    find(round, sentence);
}

static void try_new_client(struct round *round)
{
    char name[LINE_MAX_LEN + 16];
    const char *names[] = {name};
    pawl_client *client = NULL;
    pawl_lock *lock = NULL;
    (void)snprintf(name, sizeof(name), "%s/%d", round->name, (int)getpid());
    if (pawl_client_new(&(struct pawl_options){.servers = &direct_url, .server_count = 1},
                        &client) < 0 ||
        pawl_acquire(client, &(struct pawl_request){.names = names, .name_count = 1}, &lock) < 0 ||
        pawl_release(client, lock, NULL) < 0)
        find(round, "a new client does not work");
    pawl_lock_free(lock);
    pawl_client_free(client);
}

/* A renewer is readable, and has an end to tell. */
static void expect_no_renewer(struct round *round)
{
    struct pollfd fd = {.fd = pawl_renewer_fd(round->renewer), .events = POLLIN};
    if (poll(&fd, 1, 0) != 1)
        find(round, "the renewer is silent");
    expect_forked(round, "look", pawl_renewer_look(round->renewer));
}

static void make_calls(struct round *round)
{
    pawl_client *client = round->client;
    pawl_lock *lock = NULL;
    const char *name = "forks/of-a-child";
    int64_t value;
    expect_forked(
        round, "acquire",
        pawl_acquire(client, &(struct pawl_request){.names = &name, .name_count = 1}, &lock));
    if (strstr(pawl_client_reason(client), "new client") == NULL)
        find(round, "no sentence says what to do");
    expect_forked(round, "count", pawl_counter_next(client, "forks", 1, &value));
    if (round->renewer != NULL)
        expect_no_renewer(round);
    if (round->lock != NULL) {
        if (pawl_lock_left_ms(round->lock) != 0)
            find(round, "it is held");
        expect_forked(round, "extend", pawl_extend(client, round->lock, TTL_MS));
        expect_forked(round, "release", pawl_release(client, round->lock, NULL));
    }
    try_new_client(round);
}

/* Does what a program does at its end. The end of the pipe tells the parent what was found. */
static void end_child(struct round *round, int fd)
{
    round->found[0] = '\0';
    if (round->calls)
        make_calls(round);
    pawl_renewer_stop(round->renewer);
    pawl_lock_free(round->lock);
    pawl_client_free(round->client);
    (void)!write(fd, round->found, strlen(round->found));
    exit(EXIT_SUCCESS);
}

static bool has_ended(pid_t pid)
{
    int status;
    return waitpid(pid, &status, WNOHANG) == pid;
}

/* Waits until no holder has the pipe, and @pid (0: that of a daemon) has ended. */
static void wait_for_child(pid_t pid, int fd, char ret_found[static FOUND_MAX])
{
    const int64_t end_ms = pawl_now_ms() + child_ms;
    size_t len = 0;
    for (;;) {
        struct pollfd reader = {.fd = fd, .events = POLLIN};
        const int64_t left_ms = end_ms - pawl_now_ms();
        if (left_ms <= 0 || poll(&reader, 1, (int)left_ms) == 0)
            goto late;
        const ssize_t got = read(fd, ret_found + len, FOUND_MAX - 1 - len);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    while (pid > 0 && !has_ended(pid)) {
        if (pawl_now_ms() > end_ms)
            goto late;
        (void)usleep(STEP_US);
    }
    ret_found[len] = '\0';
    return;
late:
    if (pid > 0)
        (void)kill(pid, SIGKILL);
    (void)snprintf(ret_found, FOUND_MAX, "the child did not end in time");
}

static pid_t fork_child(struct round *round, int *ret_fd)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        abort();
    const pid_t pid = fork();
    if (pid == 0)
        end_child(round, fds[1]);
    (void)close(fds[1]);
    *ret_fd = fds[0];
    return pid;
}

static void by_fork(struct round *round)
{
    int fd;
    char found[FOUND_MAX];
    const pid_t pid = fork_child(round, &fd);
    wait_for_child(pid, fd, found);
    (void)close(fd);
    tell("child", found);
}

/* Its child has the pid that this process has in the namespace: 1. */
static void by_namespace(struct round *round)
{
    if (unshare(CLONE_NEWPID) < 0)
        abort();
    by_fork(round);
}

static void by_vfork(struct round *round)
{
    (void)round;
    const pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork): it is meant */
    if (pid == 0) {
        (void)execl("/bin/true", "true", (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    (void)waitpid(pid, NULL, 0);
    tell("child", "");
}

/* The program gets no connection, and no descriptor of a renewer. libcurl wakes itself with sockets
 * that it does get. */
static void by_posix_spawn(struct round *round)
{
    static char script[] =
        "ls -l /proc/self/fd | grep -q anon_inode: && exit 1;"
        "for inode in $(ls -l /proc/self/fd | sed -n 's/.*socket:.\\([0-9]*\\).*/\\1/p'); do"
        " grep -q \" $inode \" /proc/net/tcp && exit 1; done; exit 0";
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};
    pid_t pid;
    int status = 0;
    (void)round;
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) != 0)
        abort();
    (void)waitpid(pid, &status, 0);
    tell("child", status == 0 ? "" : "the program has a descriptor of the client");
}

static void serve(struct round *round, int listener, int report)
{
    const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection >= 0)
        (void)close(connection);
    end_child(round, report);
}

/* Two workers, each of which serves one connection. */
static void by_prefork(struct round *round)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char found[FOUND_MAX] = "";
    pid_t pids[WORKERS];
    int fds[WORKERS];
    if (bind(listener, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) < 0 ||
        listen(listener, WORKERS) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) < 0)
        abort();
    for (size_t i = 0; i < WORKERS; i++) {
        int report[2];
        if (pipe2(report, O_CLOEXEC) < 0)
            abort();
        pids[i] = fork();
        if (pids[i] == 0)
            serve(round, listener, report[1]);
        (void)close(report[1]);
        fds[i] = report[0];
    }
    for (size_t i = 0; i < WORKERS; i++) {
        const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        (void)connect(connection, (struct sockaddr *)&address, len);
        (void)close(connection);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        char one[FOUND_MAX];
        wait_for_child(pids[i], fds[i], one);
        (void)close(fds[i]);
        if (one[0] != '\0')
            (void)snprintf(found, sizeof(found), "%s", one);
    }
    (void)close(listener);
    tell("child", found);
}

static volatile sig_atomic_t handled_pid; /* -1: not yet */
static int handler_fds[2];

/* In the child it returns into the call. */
static void fork_in_handler(int number)
{
    (void)number;
    handled_pid = fork();
}

static void *interrupt(void *user)
{
    const pthread_t *target = user;
    char found[FOUND_MAX];
    wait_for_line();
    (void)pthread_kill(*target, SIGUSR1);
    while (handled_pid < 0)
        (void)usleep(STEP_US);
    (void)close(handler_fds[1]);
    wait_for_child(handled_pid, handler_fds[0], found);
    (void)close(handler_fds[0]);
    tell("child", found);
    return NULL;
}

/* Makes the call of a moment, which the handler interrupts. */
static int call_of(struct round *round, bool *ret_released)
{
    const char *names[] = {round->name};
    if (strcmp(round->moment, "waiting") == 0)
        return pawl_acquire(round->client,
                            &(struct pawl_request){
                                .names = names, .name_count = 1, .ttl_ms = TTL_MS, .wait_ms = -1},
                            &round->lock);
    if (strcmp(round->moment, "extending") == 0)
        return pawl_extend(round->client, round->lock, 0);
    if (strcmp(round->moment, "releasing") == 0)
        return pawl_release(round->client, round->lock, ret_released);
    while (handled_pid < 0)
        (void)usleep(STEP_US);
    return 0;
}

static void play_handler(struct round *round)
{
    pthread_t this = pthread_self();
    pthread_t thread;
    sigset_t usr1;
    bool released = false;
    const pid_t home = getpid();
    handled_pid = -1;
    if (pipe2(handler_fds, O_CLOEXEC) < 0)
        abort();
    (void)signal(SIGUSR1, fork_in_handler);
    (void)sigemptyset(&usr1);
    (void)sigaddset(&usr1, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    (void)pthread_create(&thread, NULL, interrupt, &this);
    (void)pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    const int error = call_of(round, &released);
    if (getpid() != home) {
        const bool is_wrong =
            strcmp(round->moment, "holding") != 0 && strcmp(pawl_error_name(error), "forked") != 0;
        if (is_wrong)
            (void)!write(handler_fds[1], "the call goes on", 16);
        end_child(round, handler_fds[1]);
    }
    (void)pthread_join(thread, NULL);
    wait_for_line();
    if (error < 0)
        find(round, pawl_client_reason(round->client));
    if (strcmp(round->moment, "releasing") != 0)
        (void)!pawl_release(round->client, round->lock, &released);
    if (!released)
        find(round, "the lock was released");
}

static void *call_in_thread(void *user)
{
    struct round *round = user;
    round->call.error = call_of(round, &round->call.released);
    return NULL;
}

/* The renewer extends it, and it is held until it is released. */
static void expect_good(struct round *round)
{
    bool released = false;
    const int64_t end_ms = pawl_now_ms() + EXTENDED_MS;
    while (pawl_lock_left_ms(round->lock) <= EXTENDED_LEAST_MS &&
           pawl_renewer_look(round->renewer) == 0 && pawl_now_ms() < end_ms)
        (void)usleep(STEP_US);
    if (pawl_lock_left_ms(round->lock) <= EXTENDED_LEAST_MS)
        find(round, "the lock is not extended");
    pawl_renewer_stop(round->renewer);
    round->renewer = NULL;
    if (pawl_release(round->client, round->lock, &released) < 0 || !released)
        find(round, "the lock was released");
}

static void take_lock(struct round *round)
{
    const char *names[] = {round->name};
    if (pawl_acquire(round->client,
                     &(struct pawl_request){.names = names, .name_count = 1, .ttl_ms = TTL_MS},
                     &round->lock) < 0)
        find(round, pawl_client_reason(round->client));
}

static void start_renewer(struct round *round, int64_t left_ms)
{
    if (pawl_extend(round->client, round->lock, left_ms) < 0 ||
        pawl_renewer_start(round->client, round->lock, &round->renewer) < 0)
        find(round, pawl_client_reason(round->client));
}

static void by_daemon(struct round *round)
{
    const int fd = dup(STDERR_FILENO + 1); /* the pipe of play_daemon() */
    if (daemon(1, 1) < 0)
        abort();
    end_child(round, fd);
}

/* The parent is killed, and its child lives on. */
static void by_orphan(struct round *round)
{
    char pid[LINE_MAX_LEN];
    const pid_t parent = getpid();
    (void)round;
    if (fork() == 0) {
        (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
        tell("child", pid);
        (void)kill(parent, SIGKILL);
    }
    for (;;)
        (void)pause();
}

static const struct {
    const char *kind;
    void (*run)(struct round *round);
} kinds[] = {
    {"fork", by_fork},       {"vfork", by_vfork},   {"posix_spawn", by_posix_spawn},
    {"prefork", by_prefork}, {"daemon", by_daemon}, {"namespace", by_namespace},
    {"orphan", by_orphan},
};

static void fork_at_now(struct round *round, const char *kind)
{
    wait_for_line();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            kinds[i].run(round);
    wait_for_line();
}

static void play(struct round *round, const char *kind)
{
    const bool waits = strcmp(round->moment, "waiting") == 0;
    const bool releases = strcmp(round->moment, "releasing") == 0;
    if (!waits && !releases) /* for a lock that is held, it is at work after the fork */
        start_renewer(round, strcmp(round->moment, "extending") == 0 ? DUE_MS : SOON_MS);
    if (waits || releases)
        (void)pthread_create(&round->call.thread, NULL, call_in_thread, round);
    fork_at_now(round, kind);
    if (waits || releases)
        (void)pthread_join(round->call.thread, NULL);
    if (round->call.error < 0)
        find(round, pawl_client_reason(round->client));
    if (releases && !round->call.released)
        find(round, "the lock was released");
    if (waits && round->lock != NULL)
        start_renewer(round, DUE_MS);
    if (!releases && round->renewer != NULL)
        expect_good(round);
}

static void play_round(struct round *round, const char *kind)
{
    if (pawl_client_new(&(struct pawl_options){.call_timeout_ms = CALL_MS}, &round->client) < 0)
        abort();
    if (strcmp(round->moment, "waiting") != 0)
        take_lock(round);
    if (strcmp(kind, "handler") == 0)
        play_handler(round);
    else
        play(round, kind);
    pawl_lock_free(round->lock);
    pawl_client_free(round->client);
    tell("parent", round->found);
}

/* Goes on in a process with the pid 1, as in a container. */
static void enter_namespace(void)
{
    if (unshare(CLONE_NEWPID) < 0)
        abort();
    const pid_t pid = fork();
    if (pid == 0)
        return;
    (void)waitpid(pid, NULL, 0);
    _exit(EXIT_SUCCESS);
}

/* The round runs in a process that becomes a daemon, half-way; or in one that can have a child with
 * its own pid. */
static void play_in_child(struct round *round, const char *kind)
{
    const bool is_daemon = strcmp(kind, "daemon") == 0;
    char found[FOUND_MAX];
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        abort();
    const pid_t pid = fork();
    if (pid == 0) {
        if (is_daemon && dup2(fds[1], STDERR_FILENO + 1) < 0)
            abort();
        (void)close(fds[0]);
        if (!is_daemon)
            enter_namespace();
        play_round(round, kind);
        exit(EXIT_SUCCESS);
    }
    (void)waitpid(pid, NULL, 0);
    (void)close(fds[1]);
    if (is_daemon) {
        wait_for_child(0, fds[0], found);
        tell("child", found);
        wait_for_line();
        tell("parent", "");
    }
    (void)close(fds[0]);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return EXIT_FAILURE;
    const char *kind = argv[1];
    const char *seconds = getenv("PAWL_FORKS_SECONDS");
    direct_url = argv[2];
    child_ms = seconds != NULL ? strtoll(seconds, NULL, 10) * 1000 : 1000;
    (void)open("/dev/null", O_RDWR | O_CLOEXEC); /* the number of play_in_child() */
    for (bool calls = false;; calls = !calls) {
        char line[LINE_MAX_LEN];
        struct round round = {.calls = calls};
        read_line(line);
        if (sscanf(line, "%399s %399s", round.moment, round.name) != 2)
            return EXIT_FAILURE;
        if (strcmp(kind, "daemon") == 0 || strcmp(kind, "namespace") == 0)
            play_in_child(&round, kind);
        else
            play_round(&round, kind);
    }
}
