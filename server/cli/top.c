/* `pawl top`: the fleet, its locks and what happens to them, live in a terminal. */
#include "server/cli/fleet_words.h"
#include "server/cli/signals.h"
#include "server/cli/top_feed.h"
#include "server/cli/top_screen.h"
#include "server/cli/top_view.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DRAW_MOST_MS = 1000, /* between two drawings without a change: remaining times change */
    DRAW_LEAST_MS = 100, /* between two drawings, however many changes there are */
    QUITS = -1,
};

struct top_options {
    struct cli_globals *globals;
    const char *prefix;
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type */
static error_t parse_top(int key, char *text, struct argp_state *state)
{
    struct top_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case ARGP_KEY_ARG:
        if (options->prefix[0] != '\0')
            return server_options_error("takes one prefix");
        options->prefix = text;
        return cli_check_prefix(text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- keys and signals ------------------------------------------------------------------------ */

static void scroll(struct cli_top_view *view, size_t down, size_t up)
{
    view->first = view->first + down > up ? view->first + down - up : 0;
}

/* QUITS, or 0. */
static int obey_key(struct cli_top_view *view, enum cli_top_key key)
{
    switch (key) {
    case CLI_TOP_KEY_UP:
        scroll(view, 0, 1);
        break;
    case CLI_TOP_KEY_DOWN:
        scroll(view, 1, 0);
        break;
    case CLI_TOP_KEY_PAGE_UP:
        scroll(view, 0, view->page);
        break;
    case CLI_TOP_KEY_PAGE_DOWN:
        scroll(view, view->page, 0);
        break;
    case CLI_TOP_KEY_ORDER:
        view->order = (view->order + 1) % CLI_TOP_ORDERS;
        view->first = 0;
        break;
    case CLI_TOP_KEY_EVENTS:
        view->all_events = !view->all_events;
        break;
    case CLI_TOP_KEY_QUIT:
    case CLI_TOP_KEY_GONE:
        return QUITS;
    case CLI_TOP_KEY_NONE:
        break;
    }
    return 0;
}

/* QUITS, or 0. Pressed keys are taken one after the other. */
static int obey_keys(struct cli_top_view *view)
{
    int result = 0;
    for (enum cli_top_key key = cli_top_screen_key(); key != CLI_TOP_KEY_NONE && result == 0;
         key = result == 0 ? cli_top_screen_key() : CLI_TOP_KEY_NONE)
        result = obey_key(view, key);
    return result;
}

/* Handles Ctrl-Z: the shell gets its terminal, and `fg` opens the screen again. Returns QUITS if
 * the screen cannot be opened. */
static int stop(int signal)
{
    cli_top_screen_close();
    cli_signals_take_default(signal);
    return cli_top_screen_open() < 0 ? QUITS : 0;
}

/* QUITS, the signal that ends this process, or 0. */
static int take_signals(const struct cli_signals *signals)
{
    struct signalfd_siginfo info;
    int result = 0;
    while (result == 0 && cli_signals_next(signals, &info)) {
        const int signal = (int)info.ssi_signo;
        if (cli_signals_stops(signal))
            result = stop(signal);
        else if (cli_signals_ends(signal))
            result = signal;
    }
    return result;
}

/* ---- the screen ------------------------------------------------------------------------------ */

static void draw(struct cli_top_view *view, struct cli_top_model *model)
{
    uint64_t count;
    if (read(model->changed_fd, &count, sizeof(count)) < 0)
        assert(errno == EAGAIN);
    cli_top_screen_size(&view->rows, &view->columns);
    cli_top_show(view, model);
}

/* Waits until there is work. A change alone waits for the next drawing. */
static void wait_for_work(const struct cli_signals *signals, const struct cli_top_model *model,
                          int64_t drawn_ms)
{
    struct pollfd ready[] = {
        {.fd = signals->fd, .events = POLLIN},
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = model->changed_fd, .events = POLLIN},
    };
    const int64_t ago_ms = pawl_now_ms() - drawn_ms;
    const int64_t quiet_ms = DRAW_LEAST_MS - ago_ms;
    if (quiet_ms > 0 && poll(ready, 2, (int)quiet_ms) > 0)
        return;
    const int64_t left_ms = DRAW_MOST_MS - (pawl_now_ms() - drawn_ms);
    (void)poll(ready, 3, left_ms > 0 ? (int)left_ms : 0);
}

/* Runs until a key or a signal ends it. Returns that signal, or QUITS. */
static int run_screen(struct cli_top_view *view, struct cli_top_model *model,
                      const struct cli_signals *signals)
{
    int result = 0;
    while (result == 0) {
        draw(view, model);
        wait_for_work(signals, model, pawl_now_ms());
        result = take_signals(signals);
        if (result == 0)
            result = obey_keys(view);
    }
    return result;
}

/* Returns only if nothing was shown. The threads of the feed work until the process ends: exit()
 * would free memory of libraries that the threads still use. */
static int run_live(struct cli_top_feed *feed)
{
    struct cli_top_view view = {
        .screen = true,
        .colours = getenv("NO_COLOR") == NULL,
    };
    struct cli_signals signals;
    if (cli_signals_block(&signals) < 0 || cli_top_screen_open() < 0)
        return cli_say("cannot use the terminal: %s", strerror(errno));
    if (cli_top_feed_start(feed) < 0) {
        cli_top_screen_close();
        return cli_say("cannot start a thread: %s", strerror(errno));
    }
    const int result = run_screen(&view, feed->model, &signals);
    cli_top_screen_close();
    if (result > 0)
        cli_signals_die(result);
    _exit(cli_printed() ? CLI_EXIT_DONE : CLI_EXIT_ERROR);
}

/* For a pipe or a file: prints the current state once. */
static int show_once(const struct cli_top_feed *feed)
{
    struct cli_top_view view = {.screen = false};
    cli_top_show(&view, feed->model);
    return cli_fleet_is_ready(feed->model->fleet) ? CLI_EXIT_DONE : CLI_EXIT_NOT_READY;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static struct cli_top_model *new_model(void)
{
    struct cli_top_model *model = malloc(sizeof(*model));
    if (model != NULL && cli_top_model_init(model) == 0)
        return model;
    (void)cli_say("too little memory, or too few file descriptors (ulimit -n)");
    free(model);
    return NULL;
}

static int run_top(const struct top_options *options)
{
    static struct cli_top_feed feed; /* the threads have it until the process ends */
    feed = (struct cli_top_feed){
        .globals = options->globals,
        .prefix = options->prefix,
        .model = new_model(),
        .asks = cli_client(options->globals),
    };
    if (feed.model == NULL || feed.asks == NULL)
        return CLI_EXIT_ERROR;
    feed.follows = cli_client(options->globals);
    if (feed.follows == NULL)
        return CLI_EXIT_ERROR;
    const int code = cli_top_feed_once(&feed);
    if (code != CLI_EXIT_DONE)
        return code;
    return cli_top_screen_can() ? run_live(&feed) : show_once(&feed);
}

int cli_top(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .parser = parse_top,
        .args_doc = "[PREFIX]",
        .doc = "Shows the fleet, its locks and their changes, live in a terminal. With PREFIX, "
               "shows only the locks whose names begin with PREFIX. Changes nothing.\v"
               "  q            quits\n"
               "  up, down     scroll the locks; also j, k and the page keys\n"
               "  s            next order: most waiters, held longest, next to expire\n"
               "  e            all events, or only lost, broken and refused locks\n\n"
               "Without a terminal pawl top prints once. Exit code 1: no lock can be granted.",
        .children = cli_text_children,
    };
    struct top_options options = {.globals = globals, .prefix = ""};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    if (globals->json)
        return cli_refuse_json("pawl fleet --json and pawl list --json print the same data");
    return run_top(&options);
}
