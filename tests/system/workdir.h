/* A folder for the files of the case that runs, with paths in it. */
#ifndef TESTS_SYSTEM_WORKDIR_H
#define TESTS_SYSTEM_WORKDIR_H

#include "tests/lib/pawl.h"

enum {
    WORKDIR_PATH_BYTES = 256,
};

extern struct workdir {
    char *path;
    char data[WORKDIR_PATH_BYTES];     /* for pawld --data */
    char data_log[WORKDIR_PATH_BYTES]; /* for a pawld that pawld_start_at() started there */
    char log[WORKDIR_PATH_BYTES];      /* log of a program that runs */
    char said[WORKDIR_PATH_BYTES];     /* output of a program that ended */
} workdir;

/* Setup and teardown of a case. The teardown ends all processes too, and the fleet if there is
 * one. */
int workdir_setup(void **state);
int workdir_teardown(void **state);

/* Starts pawld with @options (ended by NULL) on a free port; what it writes is in workdir.log. It
 * listens when this returns. */
struct pawl_service workdir_start(const char *const options[]);

/* The path of @name in the folder @in, which is workdir.path or one below it. */
void workdir_join(const char *in, const char *name, char ret_path[static WORKDIR_PATH_BYTES]);

/* Fails the test unless a program ended with @status, and @words are in what it wrote to
 * workdir.said. */
void workdir_expect_said(int ended, int status, const char *words);

/* Writes the file @path, which may be any, again. */
void workdir_write(const char *path, const char *text);

/* How often @part is in the file @path, which may be any. */
unsigned workdir_count(const char *path, const char *part);

#endif
