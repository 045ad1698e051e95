/* A program for the tests of `pawl lock`. It catches each signal that can be caught, also the two
 * that the C library keeps. It writes "ready" to the file that its argument names, then a line with
 * the number of each signal. It ends with the exit code 7 at the end of its standard input. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LAST = 64,
    EXIT_CODE = 7,
    SA_KERNEL_RESTORER = 0x04000000,
};

static int file;

static void write_number(int signal)
{
    const char line[] = {(char)('0' + signal / 10), (char)('0' + signal % 10), '\n'};
    (void)!write(file, line, sizeof(line));
}

#ifdef __x86_64__
__attribute__((naked)) static void leave_handler(void)
{
    __asm__("mov $15, %eax\n\tsyscall");
}
#endif

/* The C library refuses the signals that it keeps. */
static void catch_signal(int signal)
{
    struct {
        uintptr_t handler;
        unsigned long flags;
        uintptr_t restorer;
        unsigned long mask;
    } action = {.handler = (uintptr_t)write_number, .flags = SA_RESTART};
#ifdef __x86_64__
    action.flags |= SA_KERNEL_RESTORER;
    action.restorer = (uintptr_t)leave_handler;
#endif
    (void)syscall(SYS_rt_sigaction, signal, &action, NULL, sizeof(action.mask));
}

int main(int argc, char **argv)
{
    char byte;
    file = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file < 0)
        return EXIT_FAILURE;
    for (int signal = 1; signal <= LAST; signal++)
        catch_signal(signal);
    (void)!write(file, "ready\n", strlen("ready\n"));
    for (;;) {
        const ssize_t len = read(STDIN_FILENO, &byte, 1);
        if (len == 0 || (len < 0 && errno != EINTR))
            return EXIT_CODE;
    }
}
