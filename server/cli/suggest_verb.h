/* Guesses the verb that an unknown verb may have meant. */
#ifndef SERVER_CLI_SUGGEST_VERB_H
#define SERVER_CLI_SUGGEST_VERB_H

#include <stddef.h>

/* Returns the text behind "pawl " for @word: the verb for another program's name, or the verb in
 * @verbs that differs from @word by a typing error. NULL: neither. */
const char *cli_guess(const char *word, const char *const *verbs, size_t count);

#endif
