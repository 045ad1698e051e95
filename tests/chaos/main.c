/* chaos_run --seconds S --seed X                what must hold, and the control run beside it
 * chaos_run --seconds S --seed X --unguarded    the control run alone
 * chaos_run --seconds S --seed X --traced DIR   the other run alone, with traces of it in DIR
 *
 * Real processes under faults; then the history is checked. Exit status: 0 all went well; 1 a
 * promise was broken, and how is told; 2 bad options; 3 the run has shown nothing: no stale write
 * came, the control run lost no update, or something never happened. */
#include "tests/chaos/faults.h"
#include "tests/chaos/run.h"

#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_VIOLATION = 1,
    EXIT_SHOWN_NOTHING = 3,

    SECONDS_DEFAULT = 20,
    SECONDS_FOR_ALL = 170,   /* from so long on, every kind of fault must have happened, ... */
    SECONDS_FOR_GRANTS = 60, /* ... and every kind of grant */
    CONTROL_SECONDS = 60,    /* for the run without the guard, at most: it has to lose an update */
};

struct options {
    struct run_config run;
    bool unguarded;
    uint64_t only; /* kinds of faults of masters: no others */
};

/* ---- options --------------------------------------------------------------------------------- */

static uint64_t parse_kind(struct argp_state *state, const char *text)
{
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
        if (strcmp(text, faults_name(kind)) == 0)
            return UINT64_C(1) << kind;
    argp_error(state, "no such fault: %s", text);
    return 0;
}

/* All faults of masters, except the ones that were asked for. */
static void leave_out_others(struct options *options)
{
    for (unsigned kind = 0; kind < FAULT_KINDS && options->only != 0; kind++)
        if (faults_is_of_master(kind) && !(options->only >> kind & 1))
            options->run.without |= UINT64_C(1) << kind;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 't':
        options->run.seconds = (unsigned)strtoul(text, NULL, 10);
        if (options->run.seconds == 0)
            argp_error(state, "not a number of seconds: %s", text);
        return 0;
    case 's':
        options->run.seed = strtoull(text, NULL, 10);
        return 0;
    case 'u':
        options->unguarded = true;
        return 0;
    case 'd':
        options->run.traced = text;
        return 0;
    case 'w':
        options->run.without |= parse_kind(state, text);
        return 0;
    case 'o':
        options->only |= parse_kind(state, text);
        return 0;
    case ARGP_KEY_END:
        leave_out_others(options);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_list[] = {
    {"seconds", 't', "S", 0, "How long a run lasts (default 20)", 0},
    {"seed", 's', "X", 0, "What faults and clients are drawn from (default 1)", 0},
    {"unguarded", 'u', NULL, 0, "Only the control run: the ledger looks at no token", 0},
    {"traced", 'd', "DIR", 0, "Only the guarded run: all files of it, with traces, become DIR", 0},
    {"without", 'w', "FAULT", 0, "Leave one kind of fault out, as the table calls it", 0},
    {"only", 'o', "FAULT", 0, "Of the faults of masters' processes, only this (or these)", 0},
    {0},
};

/* ---- the table ------------------------------------------------------------------------------- */

/* A member of struct run_result, and what it is called. */
struct row {
    const char *name;
    size_t offset;
};

#define ROW(name, member)                                                                          \
    {                                                                                              \
        name, offsetof(struct run_result, member)                                                  \
    }

static const struct row counts[] = {
    ROW("all faults", faults.all),
    ROW("  that came to nothing in time", faults.gave_up),
    ROW("masters that forgot, taken back", faults.taken_back),
    ROW("grants", grants),
    ROW("  by a lock id of the client's own", grants_own),
    ROW("  by asking again with it", grants_retried),
    ROW("  what a lost answer had granted", grants_found),
    ROW("  of several at once", grants_grouped),
    ROW("granted again to their holders", grants_repeated),
    ROW("grants a second", grants_a_second),
    ROW("grants in the worst second", worst_second),
    ROW("acquires refused: held", held),
    ROW("acquires refused: unavailable", unavailable),
    ROW("acquires without an answer", unanswered),
    ROW("extended", extended),
    ROW("extended by a grant anew", anew),
    ROW("extensions refused: lost", lost),
    ROW("released", released),
    ROW("calls that took values of counters", counted),
    ROW("counters read", counters_read),
    ROW("writes accepted", written),
    ROW("stale claims and writes refused", stale),
    ROW("updates lost", updates_lost),
    ROW("P1: tokens granted twice", findings.twice),
    ROW("P1: tokens out of order", findings.disorder),
    ROW("P2: leases looked at", findings.leases),
    ROW("P2: holders beside another", findings.overlaps),
    ROW("refused for the sake of own lock", findings.shut_out),
    ROW("values of counters given twice", findings.values_twice),
    ROW("counters that told less later", findings.values_fell),
    ROW("P3: what did not come back", unhealed),
    ROW("P4: accepted tokens that fell", findings.fell),
};

static const struct row seconds[] = {
    ROW("s until one that forgot was back", faults.mean_s),
    ROW("s at most", faults.slowest_s),
    ROW("s without any grant, at most", longest_gap_s),
    ROW("s from the last fault to all back", healed_s),
};

/* The runs that were played, one in each column. */
struct table {
    unsigned count;
    const struct run_result *run[2];
};

static void print_counts(const struct table *table, const char *name, size_t offset)
{
    printf("%-36s", name);
    for (unsigned i = 0; i < table->count; i++) {
        size_t count;
        memcpy(&count, (const char *)table->run[i] + offset, sizeof(count));
        printf("%12zu", count);
    }
    putchar('\n');
}

static void print_seconds(const struct table *table, const struct row *row)
{
    printf("%-36s", row->name);
    for (unsigned i = 0; i < table->count; i++) {
        double value;
        memcpy(&value, (const char *)table->run[i] + row->offset, sizeof(value));
        printf("%12.1f", value);
    }
    putchar('\n');
}

static void print_table(const struct table *table)
{
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
        print_counts(table, faults_name(kind),
                     offsetof(struct run_result, faults.injected) + kind * sizeof(size_t));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        print_counts(table, counts[i].name, counts[i].offset);
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
        print_seconds(table, &seconds[i]);
}

static void print_reasons(const struct absences_figures *figures)
{
    for (size_t i = 0; i < ABSENCES_REASONS && figures->reason[i].times > 0; i++)
        printf("%s%s %zu", i > 0 ? ", " : "  ", figures->reason[i].name, figures->reason[i].times);
    putchar('\n');
}

/* For each kind that befell a master: what was noticed after how long, and when it voted again. */
static void print_absences(const struct run_result *run)
{
    printf("\n%-36s%6s%6s%9s%9s%9s%9s\n", "s until noticed, then until voting", "times", "seen",
           "noticed", "after", "voting", "at most");
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++) {
        const struct absences_figures *figures = &run->faults.absent[kind];
        if (!faults_is_of_master(kind))
            continue;
        printf("%-36s%6zu%6zu%9zu", faults_name(kind), figures->times, figures->seen,
               figures->noticed);
        printf("%9.2f%9.2f%9.2f", figures->noticed_s, figures->back_s, figures->back_most_s);
        print_reasons(figures);
    }
}

static void print_runs(const struct options *options, const struct table *table)
{
    printf("%4u s, seed %-22" PRIu64 "%12s%12s\n", options->run.seconds, options->run.seed,
           options->unguarded ? "unguarded" : "guarded", table->count > 1 ? "unguarded" : "");
    print_table(table);
    print_absences(table->run[table->count - 1]);
}

/* ---- what it shows --------------------------------------------------------------------------- */

static bool all_granted(const struct run_config *config, const struct run_result *run)
{
    static const struct row kinds[] = {
        ROW("lock ids of the client's own", grants_own),
        ROW("asking again", grants_retried),
        ROW("lost answers made good by asking again", grants_found),
        ROW("asking for what one has", grants_repeated),
        ROW("several locks at once", grants_grouped),
        ROW("values of counters", counted),
        ROW("readings of counters", counters_read),
    };
    bool all = true;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t count;
        memcpy(&count, (const char *)run + kinds[i].offset, sizeof(count));
        if (count > 0 || config->seconds < SECONDS_FOR_GRANTS)
            continue;
        printf("shown nothing about: %s\n", kinds[i].name);
        all = false;
    }
    return all;
}

/* Over so long a time each thing has to have happened. */
static bool all_happened(const struct run_config *config, const struct run_result *run)
{
    bool all = all_granted(config, run) && run->stale > 0;
    if (run->stale == 0)
        printf("shown nothing: no stale claim or write was refused\n");
    for (unsigned kind = 0; kind < FAULT_KINDS && config->seconds >= SECONDS_FOR_ALL; kind++) {
        if (run->faults.injected[kind] > 0 || config->without >> kind & 1)
            continue;
        printf("shown nothing about: %s\n", faults_name(kind));
        all = false;
    }
    return all;
}

/* The run sees it within moments, and exits: that ends all processes and removes the files. */
static void interrupt(int number)
{
    run_interrupted = number;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        option_list, parse_option, NULL, "Real processes under faults.", NULL, NULL, NULL,
    };
    struct options options = {
        .run = {.seconds = SECONDS_DEFAULT, .seed = 1, .guarded = true},
    };
    struct run_result guarded = {0}, control = {0};
    struct table table = {0};
    size_t violations = 0;
    bool shown = true;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);

    if (!options.unguarded) {
        run_play(&options.run, &guarded);
        violations += run_violations(&options.run, &guarded);
        shown = all_happened(&options.run, &guarded);
        table.run[table.count++] = &guarded;
        print_runs(&options, &table);
        if (options.run.traced)
            return violations > 0 ? EXIT_VIOLATION : 0;
        if (options.run.seconds > CONTROL_SECONDS)
            options.run.seconds = CONTROL_SECONDS;
        printf("violations: %zu; now %u s without the guard\n\n", violations, options.run.seconds);
        fflush(stdout);
    }
    options.run.guarded = false;
    run_play(&options.run, &control);
    violations += run_violations(&options.run, &control);
    table.run[table.count++] = &control;

    print_runs(&options, &table);
    printf("violations: %zu\n", violations);
    if (control.updates_lost == 0) {
        printf("shown nothing: without the guard no update was lost either\n");
        shown = false;
    }
    if (violations > 0)
        return EXIT_VIOLATION;
    return shown ? 0 : EXIT_SHOWN_NOTHING;
}
