/* A pawld with a key file, for the cases of system.keys. */
#ifndef TESTS_SYSTEM_KEYS_SERVICE_H
#define TESTS_SYSTEM_KEYS_SERVICE_H

#include "tests/lib/pawl.h"
#include "tests/system/keyed.h"

enum {
    KEYS_PATH_BYTES = 256,
};

/* A lock id that is well-formed. */
#define KEYS_LOCK_ID "BBBBBBBBBBBBBBBBBBBBBBBBBBB"

extern struct keys {
    char *dir; /* folder of the case; the paths are in it */
    char file[KEYS_PATH_BYTES], data[KEYS_PATH_BYTES], log[KEYS_PATH_BYTES];
    struct pawl_service pawld;
    char admin[KEYED_KEY_MAX]; /* may do all */
    char owner[KEYED_KEY_MAX]; /* takes locks below orders/ */
    char other[KEYED_KEY_MAX]; /* takes locks */
    char slow[KEYED_KEY_MAX];  /* reads, once a second; two at once */
    char few[KEYED_KEY_MAX];   /* takes two locks */
} keys;

/* A folder with paths. keys_setup() starts pawld too, with the five keys. */
int keys_setup_alone(void **state);
int keys_setup(void **state);
int keys_teardown(void **state);

/* Starts pawld with the key file, and waits until it is ready. */
void keys_serve(void);

/* Runs @command in a shell, with @key ("": none) in its environment; $PAWL is the program and $DIR
 * the folder. What it prints is in *@ret_said, which the caller frees. Returns the exit status. */
int keys_run(const char *command, const char *key, char **ret_said);

/* The same, where it has to end with @status and to print @says. */
void keys_expect_said(const char *command, const char *key, int status, const char *says);

#define KEYS_SERVED(name) cmocka_unit_test_setup_teardown(name, keys_setup, keys_teardown)
#define KEYS_ALONE(name)  cmocka_unit_test_setup_teardown(name, keys_setup_alone, keys_teardown)

#endif
