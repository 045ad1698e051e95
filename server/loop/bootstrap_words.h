/* Why a bootstrap failed, and what to do now, in a sentence for people. */
#ifndef SERVER_LOOP_BOOTSTRAP_WORDS_H
#define SERVER_LOOP_BOOTSTRAP_WORDS_H

#include "fence/bootstrap/run.h"

enum {
    SERVER_BOOTSTRAP_WHY_MAX = 768, /* bytes of a reason */
};

/* Writes the reason. @address: the master that the failure is about; "" if it is about none.
 * @detail: the fault of the connection to that master. Precondition: the run failed. */
void server_bootstrap_words(const struct fence_bootstrap *bootstrap, const char *address,
                            const char *detail, char ret_why[static SERVER_BOOTSTRAP_WHY_MAX]);

#endif
