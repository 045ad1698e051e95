/* `pawl lock`'s side of the socket to its watchdog. The watchdog here is a process that says one
 * event, and ends without reading its order. */
#include "server/cli/command_watchdog.h"
#include "server/cli/command_watchdog_link.h"
#include "tests/lib/case.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STATUS = 9,
};

_Noreturn void cli_watchdog_main(const struct cli_command *command, int fd)
{
    const struct cli_event event = {.kind = CLI_EXPIRED, .value = STATUS};
    struct pollfd order = {.fd = fd, .events = POLLIN};
    (void)send(fd, &event, sizeof(event), MSG_NOSIGNAL);
    (void)poll(&order, 1, -1);
    _exit(EXIT_SUCCESS);
}

/* The kernel tells of the order that no caller read first: the connection is "reset". */
static void event_of_a_watchdog_that_left_an_order_unread_is_taken(void **state)
{
    struct cli_watchdog watchdog;
    siginfo_t info;
    assert_int_equal(cli_watchdog_start(&(struct cli_command){.signal = 0}, &watchdog), 0);
    cli_watchdog_end(&watchdog);
    assert_int_equal(waitid(P_PID, (id_t)watchdog.pid, &info, WEXITED | WNOWAIT), 0);
    const struct cli_event event = cli_watchdog_next(&watchdog);
    assert_int_equal(event.kind, CLI_EXPIRED);
    assert_int_equal(event.value, STATUS);
    assert_int_equal(cli_watchdog_next(&watchdog).kind, CLI_GONE);
    cli_watchdog_close(&watchdog);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(event_of_a_watchdog_that_left_an_order_unread_is_taken),
};

CASE_MAIN(cases, NULL, NULL)
