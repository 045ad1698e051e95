/* Guesses the verb that an unknown verb may have meant. */
#ifndef SERVER_CLI_SUGGEST_VERB_H
#define SERVER_CLI_SUGGEST_VERB_H

#include <stddef.h>

/* The word after "pawl "; if @word is another program's name for, or the one of @verbs that
 * it is but for a slip of the keys. NULL: neither. */
const char *cli_guess(const char *word, const char *const *verbs, size_t count);

#endif
