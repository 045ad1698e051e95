/* pawld move, over some of the masters of the case that runs (tests/system/fleet.h). */
#ifndef TESTS_SYSTEM_MOVING_H
#define TESTS_SYSTEM_MOVING_H

#include "tests/lib/pawl.h"

#include <stdbool.h>
#include <stdint.h>

/* Masters @first .. @first + @n - 1 of the case. */
struct moving_masters {
    unsigned first;
    unsigned n;
    unsigned last; /* the last of them is this master of the case instead; 0: it is not replaced */
};

enum {
    MOVING_EXTENSIONS = 77, /* the cap of the fleets that are made here */
    MOVING_KEPT_MAX = 5,
    MOVING_PATH_MAX = 512,
};

/* The data of the first masters of the case, as they are on their disks now. */
struct moving_kept {
    char folder[MOVING_KEPT_MAX][MOVING_PATH_MAX];
};

struct moving_kept moving_keep(unsigned n);

/* Each master of @set (bit i: master i) gets back what its disk had. */
void moving_put_back(const struct moving_kept *kept, uint32_t set);

/* A fleet of @masters that never issued a token. */
void moving_init(const struct moving_masters *masters, const char *ttl_max_ms);

/* pawld over @masters; it is ready, or need not be. */
struct pawl_service moving_serve(const struct moving_masters *masters);
struct pawl_service moving_serve_early(const struct moving_masters *masters);

/* pawld init for @masters with @options, as somebody who expects that it may fail: the status. */
int moving_run_init(const struct moving_masters *masters, const char *const options[]);

/* Runs `pawld move --from ... --master ...` with @options (ended by NULL; NULL: none) to its end,
 * and returns the status. The second starts it only. */
int moving_run(const struct moving_masters *from, const struct moving_masters *to,
               const char *const options[]);
struct process *moving_start(const struct moving_masters *from, const struct moving_masters *to);

/* The same with `--data @folder`. */
int moving_run_from_file(const char *folder, const struct moving_masters *to);

/* Reports whether what the last of these wrote has @words in it; it has to. */
bool moving_said(const char *words);
void moving_expect_said(const char *words);

#endif
