#include "server/cli/top_feed.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CURSOR_BYTES = 1024, /* bytes of a cursor, terminated */
    PAGES_MAX = 500,     /* pages of a listing: a page may be empty while more follow */
    PAUSE_MS = 1000,     /* between two streams */
    EVENT_ID_BYTES = 64, /* terminated */
};

/* ---- the fleet and the locks ----------------------------------------------------------------- */

/* GET @path with @name behind it. NULL: the client has the reason, *@ret_error the error. */
static json_t *get_json(pawl_client *client, const char *path, const char *name, int *ret_error)
{
    char *text = NULL;
    *ret_error = pawl_get(client, path, name, &text);
    json_t *json = *ret_error == 0 ? json_loads(text, 0, NULL) : NULL;
    if (*ret_error == 0 && json == NULL)
        *ret_error = PAWL_ENOMEM;
    free(text);
    return json;
}

static int ask_fleet(struct cli_top_feed *feed)
{
    char reason[CLI_REASON_MAX] = "";
    int error;
    json_t *fleet = get_json(feed->asks, "/v1/fleet", NULL, &error);
    if (fleet == NULL)
        cli_reason(feed->globals, feed->asks, reason);
    cli_top_set_fleet(feed->model, fleet, reason);
    return error;
}

/* Gets the next page. Writes its cursor to @cursor; "": this is the last page. */
static int ask_page(struct cli_top_feed *feed, char cursor[static CURSOR_BYTES], size_t *ret_count)
{
    char path[CURSOR_BYTES + 64];
    int error;
    (void)snprintf(path, sizeof(path), "/v1/locks?limit=%d%s%s%s", CLI_TOP_LOCKS_MAX,
                   cursor[0] != '\0' ? "&cursor=" : "", cursor,
                   feed->prefix[0] != '\0' ? "&prefix=" : "");
    json_t *page = get_json(feed->asks, path, feed->prefix, &error);
    if (page == NULL)
        return error;
    const json_t *locks = json_object_get(page, "locks");
    const char *next = json_string_value(json_object_get(page, "next_cursor"));
    cli_top_add_page(feed->model, locks);
    *ret_count += json_array_size(locks);
    (void)snprintf(cursor, CURSOR_BYTES, "%s", next != NULL ? next : "");
    json_decref(page);
    return 0;
}

/* Walks the listing until enough locks for the screen were found. Returns an error; *@ret_pages is
 * the number of pages. */
static int ask_locks(struct cli_top_feed *feed, unsigned *ret_pages)
{
    char cursor[CURSOR_BYTES] = "";
    char reason[CLI_REASON_MAX] = "";
    size_t count = 0;
    int error;
    *ret_pages = 0;
    cli_top_begin_listing(feed->model);
    do {
        error = ask_page(feed, cursor, &count);
        ++*ret_pages;
    } while (error == 0 && cursor[0] != '\0' && count < CLI_TOP_LOCKS_MAX &&
             *ret_pages < PAGES_MAX);
    if (error < 0)
        cli_reason(feed->globals, feed->asks, reason);
    cli_top_end_listing(feed->model, error == 0 && cursor[0] == '\0', reason);
    return error;
}

int cli_top_feed_once(struct cli_top_feed *feed)
{
    unsigned pages;
    int error = ask_fleet(feed);
    if (error == 0)
        error = ask_locks(feed, &pages);
    if (error == PAWL_EUNAVAILABLE && feed->model->fleet != NULL)
        return CLI_EXIT_DONE; /* the masters do not answer, and the verdict says so */
    return error < 0 ? cli_failed(feed->globals, feed->asks, error) : CLI_EXIT_DONE;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void pause_ms(int64_t ms)
{
    assert(ms >= 0);
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void *run_asks(void *user)
{
    struct cli_top_feed *feed = user;
    int64_t locks_ms = pawl_now_ms() + CLI_TOP_LOCKS_MS;
    for (;;) {
        pause_ms(CLI_TOP_FLEET_MS);
        unsigned pages = 1;
        if (ask_fleet(feed) < 0 || pawl_now_ms() < locks_ms)
            continue;
        (void)ask_locks(feed, &pages);
        locks_ms = pawl_now_ms() + CLI_TOP_LOCKS_MS * (int64_t)(pages > 2 ? pages / 2 : 1);
    }
    return NULL;
}

struct following {
    struct cli_top_model *model;
    char last_id[EVENT_ID_BYTES];
};

static void on_event(void *user, const struct pawl_event *event)
{
    struct following *following = user;
    if (event == NULL) {
        cli_top_set_live(following->model, true);
        return;
    }
    if (strlen(event->id) < sizeof(following->last_id))
        (void)snprintf(following->last_id, sizeof(following->last_id), "%s", event->id);
    cli_top_add_event(following->model, event);
}

static void *run_follows(void *user)
{
    const struct cli_top_feed *feed = user;
    struct following following = {.model = feed->model};
    for (;;) {
        const int error =
            pawl_follow(feed->follows, feed->prefix, following.last_id, on_event, &following);
        if (error == PAWL_EINVAL) /* an id of another server */
            following.last_id[0] = '\0';
        cli_top_set_live(feed->model, false);
        pause_ms(PAUSE_MS);
    }
    return NULL;
}

int cli_top_feed_start(struct cli_top_feed *feed)
{
    pthread_t thread;
    errno = pthread_create(&thread, NULL, run_asks, feed);
    if (errno == 0)
        errno = pthread_create(&thread, NULL, run_follows, feed);
    return errno == 0 ? 0 : -1;
}
