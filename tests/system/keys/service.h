/* A pawld with a key file, for the cases of system.keys. */
#ifndef TESTS_SYSTEM_KEYS_SERVICE_H
#define TESTS_SYSTEM_KEYS_SERVICE_H

#include "tests/lib/pawl.h"
#include "tests/system/keyed.h"
#include "tests/system/workdir.h"

/* A lock id that is well-formed. */
#define KEYS_LOCK_ID "BBBBBBBBBBBBBBBBBBBBBBBBBBB"

extern struct keys {
    char file[WORKDIR_PATH_BYTES];
    struct pawl_service pawld;
    char admin[KEYED_KEY_MAX]; /* may do all */
    char owner[KEYED_KEY_MAX]; /* takes locks below orders/ */
    char other[KEYED_KEY_MAX]; /* takes locks */
    char slow[KEYED_KEY_MAX];  /* reads, once a second; two at once */
    char few[KEYED_KEY_MAX];   /* takes two locks */
} keys;

/* A folder with the path of a key file. keys_setup() makes it, with the five keys, and starts
 * pawld. */
int keys_setup_alone(void **state);
int keys_setup(void **state);

/* Starts pawld with the key file, and waits until it is ready. */
void keys_serve(void);

/* keyed_call() and keyed_status() of that pawld. */
void keys_call(const char *key, const char *method, const char *path, const char *headers,
               const char *body, struct http_response *ret_response);
int keys_status(const char *key, const char *method, const char *path, const char *headers,
                const char *body);

/* Runs @command in a shell, with @key ("": none) in its environment; $PAWL is the program and $DIR
 * the folder. Its output is in *@ret_said, which the caller frees. Returns the exit status. */
int keys_run(const char *command, const char *key, char **ret_said);

/* The same, where it has to end with @status and to print @says. */
void keys_expect_said(const char *command, const char *key, int status, const char *says);

#define KEYS_SERVED(name) cmocka_unit_test_setup_teardown(name, keys_setup, workdir_teardown)
#define KEYS_ALONE(name)  cmocka_unit_test_setup_teardown(name, keys_setup_alone, workdir_teardown)

#endif
