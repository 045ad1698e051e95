#include "server/cli/top_view.h"

#include "server/cli/fleet_words.h"
#include "server/cli/table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BOLD   "\033[1m"
#define GREEN  "\033[1;32m"
#define YELLOW "\033[1;33m"
#define RED    "\033[1;31m"
#define PLAIN  "\033[0m"

enum {
    TROUBLE_SHOWN = 6,
    ROWS_FOR_EVENTS = 12, /* with fewer than these, locks alone are shown */
    COLUMNS_FIXED = 44,   /* columns of a row of locks, without the name and the owner */
    CELL_LEAST = 12,      /* characters of a name */
    LOCK_ROWS = 3,        /* above the locks: an empty one, the title and the heading */
    LOCKS_LEAST = 6,      /* rows for locks, with the rows above them, that the list of masters
                           * leaves */
    EVENT_ROWS = 2,       /* above the events, the same */
    TIME_BYTES = 32,      /* bytes of a time, terminated */
};

/* The text that is printed, and how many rows are left for it. */
struct printer {
    const struct cli_top_view *view;
    size_t left;
};

/* ---- lines ----------------------------------------------------------------------------------- */

static void end_row(struct printer *printer)
{
    if (printer->view->screen && printer->left == 0)
        return;
    printer->left -= printer->left > 0;
    (void)fputs(printer->view->screen ? "\033[K\n" : "\n", stdout);
}

/* Prints a line, cut to the screen. @style "": none. */
static void print_styled(struct printer *printer, const char *style, const char *text)
{
    const bool styled = printer->view->colours && style[0] != '\0';
    if (printer->view->screen && printer->left == 0)
        return;
    (void)printf("%s%s%s", styled ? style : "", text, styled ? PLAIN : "");
    end_row(printer);
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0U) == 0x80U;
}

/* The bytes of @text that fit into so many characters. */
static size_t bytes_that_fit(const char *text, size_t characters)
{
    size_t at = 0;
    while (text[at] != '\0' && (characters > 0 || continues(text[at])))
        characters -= !continues(text[at++]);
    return at;
}

/* A sentence in as many lines as it takes, cut between words. */
static void print_sentence(void *context, const char *sentence)
{
    struct printer *printer = context;
    while (sentence[0] != '\0' && (!printer->view->screen || printer->left > 0)) {
        size_t len = printer->view->screen ? bytes_that_fit(sentence, printer->view->columns - 2)
                                           : strlen(sentence);
        size_t word = len;
        while (sentence[len] != '\0' && word > 0 && sentence[word] != ' ')
            word--;
        len = word > 0 ? word : len;
        (void)printf("  %.*s", (int)len, sentence);
        end_row(printer);
        sentence += len + strspn(sentence + len, " ");
    }
}

/* Copies @text, cut to so many characters. */
static void fit(const char *text, size_t characters, char ret_cell[static CLI_CELL_MAX])
{
    const size_t len = bytes_that_fit(text, characters);
    const bool whole = text[len] == '\0';
    (void)snprintf(ret_cell, CLI_CELL_MAX, "%.*s%s",
                   (int)(whole ? len : bytes_that_fit(text, characters - 1)), text,
                   whole ? "" : "…");
}

static void print_rows(struct printer *printer, struct cli_table *table, size_t rows)
{
    cli_table_print_with(table, printer->view->screen ? "\033[K\n" : "\n");
    printer->left -= rows < printer->left ? rows : printer->left;
}

/* ---- verdict --------------------------------------------------------------------------------- */

static void clock_text(int64_t s, char ret_text[static TIME_BYTES])
{
    const time_t seconds = (time_t)s;
    struct tm local = {.tm_isdst = 0};
    (void)localtime_r(&seconds, &local);
    (void)strftime(ret_text, TIME_BYTES, "%H:%M:%S", &local);
}

static void print_silence(struct printer *printer, const struct cli_top_model *model)
{
    char since[TIME_BYTES], line[128];
    clock_text(model->heard_s, since);
    (void)snprintf(line, sizeof(line), "no answer since %s", since);
    print_styled(printer, RED, line);
    print_sentence(printer, model->silent);
}

static void print_verdict(struct printer *printer, const struct cli_top_model *model)
{
    const bool ready = cli_fleet_is_ready(model->fleet);
    const bool all = json_integer_value(json_object_get(model->fleet, "active")) ==
                     json_integer_value(json_object_get(model->fleet, "n"));
    char votes[CLI_FLEET_SENTENCE_MAX], line[CLI_FLEET_SENTENCE_MAX + 32];
    if (model->silent[0] != '\0') {
        print_silence(printer, model);
        return;
    }
    cli_fleet_votes(model->fleet, votes);
    (void)snprintf(line, sizeof(line), "%s: %s", cli_fleet_verdict(model->fleet), votes);
    print_styled(printer, !ready ? RED : all ? GREEN : YELLOW, line);
    cli_fleet_troubles(model->fleet, print_sentence, printer);
}

static void print_masters(struct printer *printer, const struct cli_top_model *model)
{
    const size_t count = json_array_size(json_object_get(model->fleet, "masters"));
    const size_t most = printer->view->screen ? printer->view->rows / 3 : CLI_TABLE_ROWS_MAX - 1;
    const size_t shown = count < most ? count : most;
    if (printer->view->screen && printer->left < shown + LOCKS_LEAST)
        return; /* locks are more important */
    struct cli_table *table = cli_fleet_table(model->fleet, shown);
    if (table == NULL)
        return;
    end_row(printer);
    print_rows(printer, table, shown + 1);
    cli_table_free(table);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_held(const void *a, const void *b)
{
    const struct cli_top_lock *one = a, *other = b;
    const int order = compare_numbers(one->since_ms, other->since_ms);
    return order != 0 ? order : strcmp(one->name, other->name);
}

static int by_waiters(const void *a, const void *b)
{
    const struct cli_top_lock *one = a, *other = b;
    const int order = compare_numbers(other->waiters, one->waiters);
    return order != 0 ? order : by_held(a, b);
}

static int by_end(const void *a, const void *b)
{
    const struct cli_top_lock *one = a, *other = b;
    const int order = compare_numbers(one->ends_ms, other->ends_ms);
    return order != 0 ? order : strcmp(one->name, other->name);
}

static const struct {
    const char *words;
    int (*compare)(const void *a, const void *b);
} orders[CLI_TOP_ORDERS] = {
    [CLI_TOP_BY_WAITERS] = {"most waiters first", by_waiters},
    [CLI_TOP_BY_HELD] = {"held longest first", by_held},
    [CLI_TOP_BY_END] = {"next to expire first", by_end},
};

/* If a lock was already held when it was first seen, its hold is longer. */
static void held_text(const struct cli_top_lock *lock, int64_t now_ms,
                      char ret_text[static TIME_BYTES])
{
    const int64_t held_ms = (now_ms - lock->since_ms) / 1000 * 1000;
    char time[TIME_BYTES - sizeof("over ")];
    cli_time_text(held_ms, time, sizeof(time));
    if (held_ms == 0)
        (void)snprintf(ret_text, TIME_BYTES, lock->exact ? "just now" : "just seen");
    else
        (void)snprintf(ret_text, TIME_BYTES, "%s%s", lock->exact ? "" : "over ", time);
}

static void add_lock_row(const struct cli_top_view *view, struct cli_table *table,
                         const struct cli_top_lock *lock, int64_t now_ms)
{
    const size_t spare = view->columns > COLUMNS_FIXED ? view->columns - COLUMNS_FIXED : 0;
    const size_t wide = spare * 2 / 3 > CELL_LEAST ? spare * 2 / 3 : CELL_LEAST;
    char name[CLI_CELL_MAX], token[32] = "", waiters[32] = "";
    char held[TIME_BYTES], left[TIME_BYTES] = "ending";
    fit(lock->name, view->screen ? wide : (size_t)CLI_CELL_MAX, name);
    held_text(lock, now_ms, held);
    if (lock->ends_ms > now_ms)
        cli_time_text(lock->ends_ms - now_ms, left, sizeof(left));
    if (lock->token > 0)
        (void)snprintf(token, sizeof(token), "%lld", (long long)lock->token);
    if (lock->waiters > 0)
        (void)snprintf(waiters, sizeof(waiters), "%lld", (long long)lock->waiters);
    cli_table_row(table, (const char *const[]){name, token, held, left, waiters, lock->owner});
}

/* How many locks there are, and in which order. */
static void print_title(struct printer *printer, const struct cli_top_model *model)
{
    const struct cli_top_view *view = printer->view;
    char line[160];
    end_row(printer);
    if (model->unlisted[0] != '\0') {
        print_styled(printer, BOLD, "LOCKS");
        print_sentence(printer, model->unlisted);
        return;
    }
    (void)snprintf(line, sizeof(line), "%zu %s held%s, %s", model->count,
                   model->count == 1 ? "LOCK" : "LOCKS",
                   model->complete ? "" : ", and there are more (pawl top PREFIX shows others)",
                   orders[view->order].words);
    print_styled(printer, BOLD, line);
}

/* Leaves so many rows as are @reserved. */
static void print_locks(struct cli_top_view *view, struct printer *printer,
                        struct cli_top_model *model, size_t reserved)
{
    static const char *const heading[] = {"NAME", "TOKEN", "HELD", "LEFT", "WAITING", "HELD BY"};
    print_title(printer, model);
    const size_t rows = printer->left > reserved + 1 ? printer->left - reserved - 1 : 0;
    const size_t most = view->screen ? rows : model->count;
    const size_t last = model->count > most ? model->count - most : 0;
    view->first = view->first < last ? view->first : last;
    view->page = most;
    if (view->screen && most == 0)
        return;
    struct cli_table *table = cli_table_new(sizeof(heading) / sizeof(heading[0]));
    if (table == NULL)
        return;
    size_t shown = 0;
    cli_table_row(table, heading);
    for (; shown < most && view->first + shown < model->count; shown++)
        add_lock_row(view, table, &model->locks[view->first + shown], pawl_now_ms());
    print_rows(printer, table, shown + 1);
    cli_table_free(table);
    for (; view->screen && shown < most; shown++)
        end_row(printer);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void print_event(struct printer *printer, const struct cli_top_event *event)
{
    char at[TIME_BYTES], token[32] = "", line[CLI_CELL_MAX + CLI_TOP_DETAIL_MAX + 128];
    clock_text(event->at_ms / 1000, at);
    if (event->token > 0)
        (void)snprintf(token, sizeof(token), " token %lld", (long long)event->token);
    (void)snprintf(line, sizeof(line), "%s  %-8s  %s%s  %s", at, event->kind, event->name, token,
                   event->detail);
    print_styled(printer, "", line);
}

static const struct cli_top_events *shown_events(const struct cli_top_view *view,
                                                 const struct cli_top_model *model)
{
    return view->all_events ? &model->all : &model->trouble;
}

/* Returns the number of events that fit. Locks get the rows that events leave. */
static size_t rows_of_events(const struct cli_top_view *view, const struct cli_top_model *model,
                             size_t rows)
{
    const uint64_t count = shown_events(view, model)->count;
    size_t most = rows / 3 < CLI_TOP_EVENTS_MAX ? rows / 3 : CLI_TOP_EVENTS_MAX;
    if (!view->all_events && most > TROUBLE_SHOWN)
        most = TROUBLE_SHOWN;
    return count < most ? (size_t)count : most;
}

/* The newest @rows events; there are as many. */
static void print_events(struct printer *printer, const struct cli_top_model *model, size_t rows)
{
    const bool all = printer->view->all_events;
    const struct cli_top_events *events = shown_events(printer->view, model);
    assert(rows <= events->count);
    char line[128];
    end_row(printer);
    (void)snprintf(line, sizeof(line), "%s%s", all ? "EVENTS" : "LOST, BROKEN OR REFUSED",
                   !model->live ? ": pawl top receives no events now"
                   : rows == 0  ? ": none since pawl top started"
                                : "");
    print_styled(printer, BOLD, line);
    for (size_t shown = 0; shown < rows; shown++)
        print_event(printer, &events->each[(events->count - 1 - shown) % CLI_TOP_EVENTS_MAX]);
}

/* ---- everything ------------------------------------------------------------------------------ */

static void print_keys(const struct cli_top_view *view, const struct cli_top_model *model)
{
    (void)printf("%sq quit  up/down scroll  s order  e %s   %s%s%s\033[K",
                 view->colours ? BOLD : "", view->all_events ? "trouble only" : "all events",
                 model->live ? "live: " : "asks every 2 s", model->live ? model->server : "",
                 view->colours ? PLAIN : "");
}

static void show_screen(struct cli_top_view *view, struct printer *printer,
                        struct cli_top_model *model)
{
    printer->left = view->rows - 1; /* the last one has the keys */
    (void)fputs("\033[H", stdout);
    print_verdict(printer, model);
    print_masters(printer, model);
    const bool with_events = printer->left >= ROWS_FOR_EVENTS;
    const size_t events = rows_of_events(view, model, printer->left);
    if (printer->left > LOCK_ROWS)
        print_locks(view, printer, model, with_events ? events + EVENT_ROWS : 0);
    if (with_events)
        print_events(printer, model, events);
    while (printer->left > 0)
        end_row(printer);
    print_keys(view, model);
    (void)fputs("\033[J", stdout);
}

void cli_top_show(struct cli_top_view *view, struct cli_top_model *model)
{
    struct printer printer = {.view = view};
    (void)pthread_mutex_lock(&model->mutex);
    qsort(model->locks, model->count, sizeof(model->locks[0]), orders[view->order].compare);
    if (view->screen) {
        show_screen(view, &printer, model);
    } else {
        print_verdict(&printer, model);
        print_masters(&printer, model);
        print_locks(view, &printer, model, 0);
    }
    (void)pthread_mutex_unlock(&model->mutex);
    (void)fflush(stdout);
}
