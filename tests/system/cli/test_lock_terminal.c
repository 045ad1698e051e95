/* `pawl lock` in an interactive shell on a pseudo-terminal: who may type, Ctrl-C, Ctrl-Z, bg, fg.
 */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/cli/locking.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SHOWN_BYTES = 65536,
    ONE_READ_MS = 50,
    INTERRUPTS = 5,
    BETWEEN_MS = 200,
};

/* A shell that is stopped between vfork() and the exec of its child is not seen as stopped. So what
 * is stopped here starts nothing. */
#define PERL_SLEEPS "select(undef, undef, undef, 0.05)"

static pid_t shell = -1;
static int terminal = -1;
static char shown[SHOWN_BYTES]; /* since the last line that was typed */
static size_t shown_len;

/* Reads what the terminal shows, for a short time. */
static void read_terminal(void)
{
    struct pollfd ready = {.fd = terminal, .events = POLLIN};
    if (poll(&ready, 1, ONE_READ_MS) != 1)
        return;
    const ssize_t len = read(terminal, shown + shown_len, sizeof(shown) - 1 - shown_len);
    if (len > 0)
        shown_len += (size_t)len;
    shown[shown_len] = '\0';
}

static bool shows(void *text)
{
    read_terminal();
    return strstr(shown, text) != NULL;
}

static void expect_shown(const char *text)
{
    if (!wait_until(shows, (void *)(uintptr_t)text, LOCKING_PATIENCE_MS))
        fail_msg("the terminal does not show '%s', but:\n%s", text, shown);
}

static void type_text(const char *text)
{
    if (shell < 0)
        case_skip("this machine has no pseudo-terminals");
    shown_len = 0;
    shown[0] = '\0';
    assert_int_equal(write(terminal, text, strlen(text)), (ssize_t)strlen(text));
}

static bool has_terminal_from_shell(void *arg)
{
    (void)arg;
    return tcgetpgrp(terminal) != shell;
}

/* The shell shows the command of a job before the job has the terminal: what is typed in between is
 * typed to the shell. */
static void expect_job_has_terminal(void)
{
    if (!wait_until(has_terminal_from_shell, NULL, LOCKING_PATIENCE_MS))
        fail_msg("the shell keeps the terminal");
}

static int open_shell(void **state)
{
    if (locking_begin(state) != 0)
        return -1;
    shell = forkpty(&terminal, NULL, NULL, NULL);
    if (shell == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", NULL);
        _exit(EXIT_FAILURE);
    }
    if (shell < 0)
        return 0; /* the case is skipped */
    type_text("stty -echo; PS1=; PS2=; unset PROMPT_COMMAND; cd \"$DIR\"; echo beg''un\n");
    expect_shown("begun");
    return 0;
}

/* A shell that ends sends SIGHUP to its jobs. */
static int close_shell(void **state)
{
    if (shell > 0) {
        (void)close(terminal);
        (void)kill(shell, SIGKILL);
        (void)waitpid(shell, NULL, 0);
    }
    shell = -1;
    return locking_end(state);
}

static void interrupt_ends_the_command(void **state)
{
    type_text("\"$PAWL\" lock a sh -c 'echo run''ning; exec sleep 60'; echo \"code $?\"\n");
    expect_shown("running");
    type_text("\003");
    expect_shown("code 130");
}

static void wait_is_stopped_and_interrupted_on_the_terminal(void **state)
{
    type_text("\"$PAWL\" acquire --why jo''b a >grant; "
              "\"$PAWL\" lock a true; echo \"code $?\"\n");
    expect_shown("held by job");
    type_text("\x1a");
    expect_shown("code 148"); /* as bash says of SIGTSTP */
    type_text("fg\n");
    expect_shown("lock a true");
    expect_job_has_terminal();
    type_text("\x03");
    type_text("echo \"code $?\"\n");
    expect_shown("code 130");
}

static void terminal_that_stops_who_writes_does_not_stop_pawl(void **state)
{
    type_text("stty tostop; \"$PAWL\" lock a sh -c 'echo >running' &\n");
    (void)locking_number("running");
    type_text("until \"$PAWL\" lock --quiet -n a true; do sleep 0.1; done; echo fr''ee\n");
    expect_shown("free");
}

static void break_asks_on_the_terminal(void **state)
{
    type_text("\"$PAWL\" acquire --why hangs a; \"$PAWL\" break a; echo \"code $?\"\n");
    expect_shown("a is held by hangs, with token 1, for ");
    expect_shown("Type yes: ");
    type_text("no\n");
    expect_shown("nothing was broken");
    expect_shown("code 125");
    type_text("\"$PAWL\" break a; echo \"code $?\"\n");
    expect_shown("Type yes: ");
    type_text("yes\n");
    expect_shown("broke a, token 1");
    expect_shown("code 0");
}

/* The grant that was shown is broken, or none. */
static void break_that_is_agreed_to_too_late_breaks_nothing(void **state)
{
    struct grant shown_one = call_grant(locking.service.port, "a", NULL);
    type_text("\"$PAWL\" break a; echo \"code $?\"\n");
    expect_shown("Type yes: ");
    call_give_back(locking.service.port, "a", &shown_one);
    struct grant next = call_grant(locking.service.port, "a", NULL);
    type_text("yes\n");
    expect_shown(
        "pawl: another grant has the lock now, and nothing was changed: check with pawl show");
    expect_shown("code 125");
    call_expect_held(locking.service.port, "a", &next);
}

static void command_reads_the_terminal(void **state)
{
    type_text("\"$PAWL\" lock a sh -c 'echo run''ning; read word; echo \"got $word\"'\n");
    expect_shown("running");
    type_text("something\n");
    expect_shown("got something");
}

static void stopped_command_goes_on_in_the_foreground(void **state)
{
    type_text("\"$PAWL\" lock a sh -c 'echo run''ning; read word; echo \"got $word\"'\n");
    expect_shown("running");
    type_text("\032");
    expect_shown("Stopped");
    type_text("echo sh''ell\n");
    expect_shown("shell");
    type_text("fg\n");
    expect_shown("lock a"); /* the shell says what goes on */
    type_text("something\n");
    expect_shown("got something");
}

/* The terminal is the shell's then, also when the command ends. */
static void shell_keeps_the_terminal_while_the_command_is_in_the_background(void **state)
{
    type_text("\"$PAWL\" lock a perl -e '$| = 1; print \"running\\n\"; " PERL_SLEEPS
              " until -e \"go\"; print \"ended\\n\"'\n");
    expect_shown("running");
    type_text("\032");
    expect_shown("Stopped");
    type_text("bg; echo sh''ell\n");
    expect_shown("shell");
    type_text("touch go; wait; echo aft''er\n");
    expect_shown("ended");
    expect_shown("after");
    type_text("read word; echo \"got $word\"\nsomething\n");
    expect_shown("got something");
}

static void command_in_the_background_that_reads_is_stopped(void **state)
{
    type_text("\"$PAWL\" lock a sh -c 'read word; echo \"got $word\"' & sleep 1; echo sh''ell\n");
    expect_shown("shell");
    type_text("jobs\n");
    expect_shown("Stopped");
    type_text("fg\n");
    expect_shown("lock a");
    type_text("something\n");
    expect_shown("got something");
}

static void command_that_asks_for_the_terminal_and_has_it_goes_on(void **state)
{
    type_text("\"$PAWL\" lock a sh -c 'kill -TTIN $$; kill -TTIN $$; echo go''ing'\n");
    expect_shown("going");
}

static void another_part_of_the_pipeline_reads_the_terminal(void **state)
{
    type_text("\"$PAWL\" lock a sh -c 'echo run''ning >/dev/tty; sleep 3' | "
              "sh -c 'read word </dev/tty; echo \"got $word\"; cat'; echo \"code $?\"\n");
    expect_shown("running");
    type_text("something\n");
    expect_shown("got something");
    expect_shown("code 0");
}

static void command_that_asks_for_the_terminal_of_a_pipeline_gets_it(void **state)
{
    type_text("echo in | \"$PAWL\" lock a sh -c 'cat; echo run''ning; read word </dev/tty; "
              "echo \"got $word\"'\n");
    expect_shown("running");
    type_text("something\n");
    expect_shown("got something");
    type_text("echo in | \"$PAWL\" lock a perl -e '$| = 1; $SIG{CONT} = sub { print \"con\", "
              "\"tinued\\n\" }; "
              "print \"running\\n\"; " PERL_SLEEPS " while 1'\n");
    expect_shown("running");
    type_text("\032");
    expect_shown("Stopped");
    type_text("fg\n");
    expect_shown("continued"); /* which is not in the line that the shell shows */
    type_text("\003");
    type_text("echo \"code $?\"\n");
    expect_shown("code 130");
}

static void each_interrupt_comes_once_in_the_foreground(void **state)
{
    type_text("\"$PAWL\" lock --foreground a perl -e '$| = 1; $SIG{INT} = sub { $n++ }; "
              "print \"running\\n\"; $end = time + 3; "
              "select(undef, undef, undef, 0.1) while time < $end; print \"times $n\\n\"'\n");
    expect_shown("running");
    for (int i = 0; i < INTERRUPTS; i++) {
        assert_int_equal(write(terminal, "\003", 1), 1);
        wait_ms(BETWEEN_MS);
    }
    expect_shown("times 5\r");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, open_shell, close_shell)

static const struct CMUnitTest cases[] = {
    CASE(interrupt_ends_the_command),
    CASE(wait_is_stopped_and_interrupted_on_the_terminal),
    CASE(terminal_that_stops_who_writes_does_not_stop_pawl),
    CASE(break_asks_on_the_terminal),
    CASE(break_that_is_agreed_to_too_late_breaks_nothing),
    CASE(command_reads_the_terminal),
    CASE(stopped_command_goes_on_in_the_foreground),
    CASE(shell_keeps_the_terminal_while_the_command_is_in_the_background),
    CASE(command_in_the_background_that_reads_is_stopped),
    CASE(command_that_asks_for_the_terminal_and_has_it_goes_on),
    CASE(another_part_of_the_pipeline_reads_the_terminal),
    CASE(command_that_asks_for_the_terminal_of_a_pipeline_gets_it),
    CASE(each_interrupt_comes_once_in_the_foreground),
};

CASE_MAIN(cases, NULL, NULL)
