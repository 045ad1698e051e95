/* A folder for the files of one test. */
#ifndef TESTS_LIB_TEMPDIR_H
#define TESTS_LIB_TEMPDIR_H

/* Makes a fresh folder under $TMPDIR (default /tmp) and returns its absolute path, which is short
 * enough for a Unix socket below it. Give it back with tempdir_remove(); what a failed test leaves
 * is removed when its program ends. */
char *tempdir_new(void);

/* Removes the folder with all that is in it, and frees @path. NULL is fine. */
void tempdir_remove(char *path);

/* Removes any folder with all that is in it. */
void tempdir_remove_tree(const char *path);

#endif
