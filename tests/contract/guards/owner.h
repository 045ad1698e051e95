/* Servers that refuse to be root's: their files and processes belong to their own user, where
 * the tests run as root, and to the user that runs the tests else. */
#ifndef TESTS_CONTRACT_GUARDS_OWNER_H
#define TESTS_CONTRACT_GUARDS_OWNER_H

#include <stddef.h>

struct process;

/* As process_run() and process_start(), as @user. */
int owner_run(const char *user, const char *const argv[], const char *log_path);
struct process *owner_start(const char *user, const char *const argv[], const char *log_path);

/* Makes the folder @dir/@name, which is @user's, and writes its path. Others may pass through @dir.
 */
void owner_folder(const char *user, const char *dir, const char *name, char *path, size_t size);

#endif
