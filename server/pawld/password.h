/* The password of masters whose URLs have none. It comes from a file or from the environment, so
 * that no list of processes shows it. */
#ifndef SERVER_PAWLD_PASSWORD_H
#define SERVER_PAWLD_PASSWORD_H

#include "server/pawld/pawld.h"

#include <argp.h>
#include <pthread.h>
#include <stdbool.h>

#define PAWLD_PASSWORD_VARIABLE "PAWL_MASTER_PASSWORD"

/* Wipes the password in @url, an argument of this process: lists of processes show those. */
void pawld_password_hide(char *url);

/* Gives each master of @options without a password the first line of the file that they name. If
 * they name none it is the value of PAWLD_PASSWORD_VARIABLE, which is wiped; where that is not set
 * nothing is given. The result of server_options_error(), after its sentence: the file cannot be
 * read, or it has no password; or a URL has a user, and there is no password for it. */
error_t pawld_password_give(struct pawld_options *options);

/* The password of the file, while pawld serves. The main thread reads it again, and workers copy
 * it. */
struct pawld_password {
    pthread_mutex_t mutex;
    char text[STORAGE_SECRET_MAX + 1];
};

/* Nothing is read yet. */
void pawld_password_init(struct pawld_password *password);
void pawld_password_fini(struct pawld_password *password);

/* Reads the file @path again. False: it cannot be read, is half written, or has no password; the
 * log says why, and the password that was read before stays. */
bool pawld_password_reload(struct pawld_password *password, const char *path);

/* The last text that was read, for explicit_bzero(). After a reload that succeeded. */
void pawld_password_copy(struct pawld_password *password,
                         char ret_text[static STORAGE_SECRET_MAX + 1]);

#endif
