/* The screen of `pawl top`: the verdict first, then the masters, the locks, and what
 * was lost, broken or refused. */
#ifndef SERVER_CLI_TOP_VIEW_H
#define SERVER_CLI_TOP_VIEW_H

#include "server/cli/top_model.h"

#include <stddef.h>

/* In which order locks are shown. */
enum cli_top_order {
    CLI_TOP_BY_WAITERS, /* most waiters, and then held longest */
    CLI_TOP_BY_HELD,
    CLI_TOP_BY_END, /* next to expire */
    CLI_TOP_ORDERS,
};

struct cli_top_view {
    bool screen;    /* false: lines of plain text, and all locks */
    bool colours;   /* of a screen */
    size_t rows;    /* the same */
    size_t columns; /* the same */
    enum cli_top_order order;
    size_t first;    /* the lock that is shown first, from 0 on: cut to what there is */
    size_t page;     /* so many locks were shown */
    bool all_events; /* and not what was lost, broken or refused */
};

/* Prints everything to standard output. Locks are sorted in @model. */
void cli_top_show(struct cli_top_view *view, struct cli_top_model *model);

#endif
