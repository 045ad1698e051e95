/* A program for the tests of `pawl lock`: forks from a thread that is not its first, and both go on
 * without end. The forked process is the command that the arguments name, in its own session. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *fork_from_here(void *argv)
{
    if (fork() == 0) {
        (void)setsid();
        (void)execvp(((char **)argv)[0], argv);
        _exit(EXIT_FAILURE);
    }
    for (;;)
        (void)pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 2 || pthread_create(&thread, NULL, fork_from_here, argv + 1) != 0)
        return EXIT_FAILURE;
    (void)pthread_join(thread, NULL);
    return EXIT_SUCCESS;
}
