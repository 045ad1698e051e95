/* The password of masters whose URLs have none. It comes from a file or from the environment, so
 * that no list of processes shows it. */
#ifndef SERVER_PAWLD_PASSWORD_H
#define SERVER_PAWLD_PASSWORD_H

#include "server/pawld/pawld.h"

#include <argp.h>

#define PAWLD_PASSWORD_VARIABLE "PAWL_MASTER_PASSWORD"

/* Wipes the password in @url, an argument of this process: lists of processes show those. */
void pawld_password_hide(char *url);

/* Gives each master of @options without a password the first line of the file that they name. Where
 * they name none it is the value of PAWLD_PASSWORD_VARIABLE, which is wiped; where that is not set
 * nothing is given. What server_options_error() returns, after its sentence: the file cannot be
 * read, or it has no password; or a URL has a user, and there is no password for it. */
error_t pawld_password_give(struct pawld_options *options);

#endif
