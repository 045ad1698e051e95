/* The password of masters whose URLs have none. It comes from a file or from the environment, so
 * that no process list shows it. */
#ifndef SERVER_PAWLD_PASSWORD_H
#define SERVER_PAWLD_PASSWORD_H

#include "server/pawld/pawld.h"

#include <argp.h>
#include <pthread.h>
#include <stdbool.h>

#define PAWLD_PASSWORD_VARIABLE "PAWL_MASTER_PASSWORD"

/* Wipes the password in @url, an argument of this process: process lists show arguments. */
void pawld_password_hide(char *url);

/* Gives each master of @options without a password the first line of the password file. Without
 * such a file it takes the value of PAWLD_PASSWORD_VARIABLE, and wipes the variable; if that is not
 * set, it does nothing. Returns the result of server_options_error(), after its sentence: the file
 * cannot be read or has no password; or a URL has a user, and there is no password for it. */
error_t pawld_password_give(struct pawld_options *options);

/* The password of the file, while pawld serves. The main thread reads the file again, and workers
 * copy the password. */
struct pawld_password {
    pthread_mutex_t mutex;
    char text[STORAGE_SECRET_MAX + 1];
};

/* Nothing is read yet. */
void pawld_password_init(struct pawld_password *password);
void pawld_password_fini(struct pawld_password *password);

/* Reads the file @path again. Returns false if the file cannot be read, is half written, or has no
 * password: the log says why, and the old password stays. */
bool pawld_password_reload(struct pawld_password *password, const char *path);

/* Copies the last text that was read; the caller wipes it with explicit_bzero(). Call it after a
 * reload that succeeded. */
void pawld_password_copy(struct pawld_password *password,
                         char ret_text[static STORAGE_SECRET_MAX + 1]);

#endif
