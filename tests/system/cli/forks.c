/* A program that forks from a thread that is not its first, for the tests of `pawl lock`: what was
 * forked leaves the group, writes its process id to the file named first, and sleeps. So does this
 * process, without end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *fork_from_here(void *path)
{
    if (fork() == 0) {
        (void)setsid();
        FILE *file = fopen(path, "w");
        if (file == NULL)
            _exit(EXIT_FAILURE);
        (void)fprintf(file, "%d\n", (int)getpid());
        (void)fclose(file);
    }
    for (;;)
        (void)pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 2 || pthread_create(&thread, NULL, fork_from_here, argv[1]) != 0)
        return EXIT_FAILURE;
    (void)pthread_join(thread, NULL);
    return EXIT_SUCCESS;
}
