#include "tests/chaos/absences.h"

#include <stdio.h>
#include <string.h>

static double seconds(uint64_t from_ms, uint64_t till_ms)
{
    return (double)(till_ms - from_ms) / 1e3;
}

/* @mean becomes the mean of @count values, of which @value is the last. */
static void add_to_mean(double *mean, size_t count, double value)
{
    *mean += (value - *mean) / (double)count;
}

/* ---- the figures ----------------------------------------------------------------------------- */

static void count_reason(struct absences_figures *figures, const char *name)
{
    for (size_t i = 0; i < ABSENCES_REASONS; i++) {
        struct absences_reason *reason = &figures->reason[i];
        if (reason->times > 0 && strcmp(reason->name, name) != 0)
            continue;
        snprintf(reason->name, sizeof(reason->name), "%s", name);
        reason->times++;
        return;
    }
}

static void count_noticed(struct absences_figures *figures, const struct absence *absence,
                          uint64_t now_ms)
{
    figures->noticed++;
    add_to_mean(&figures->noticed_s, figures->noticed,
                seconds(absence->harmed_ms, absence->noticed_ms));
    count_reason(figures, absence->reason);
    figures->back++;
    const double took_s = seconds(absence->ended_ms, now_ms);
    add_to_mean(&figures->back_s, figures->back, took_s);
    if (took_s > figures->back_most_s)
        figures->back_most_s = took_s;
}

static void count_back(struct absences *absences, const struct absence *absence, uint64_t now_ms)
{
    struct absences_figures *figures = &absences->figures[absence->kind];
    if (absence->memory == ABSENCES_FORGOT) {
        const double took_s = seconds(absence->ended_ms, now_ms);
        absences->taken_back++;
        add_to_mean(&absences->mean_s, absences->taken_back, took_s);
        if (took_s > absences->slowest_s)
            absences->slowest_s = took_s;
    }
    if (absence->disturbed)
        return;
    figures->seen++;
    if (absence->noticed)
        count_noticed(figures, absence, now_ms);
}

/* ---- the absences ---------------------------------------------------------------------------- */

/* Data that the master lost by a fault before, and was not */
void absences_begin(struct absences *absences, unsigned master, unsigned kind,
                    enum absences_memory memory, uint64_t incarnation, uint64_t now_ms)
{
    struct absence *absence = &absences->absence[master];
    const bool forgot = absence->open && absence->memory == ABSENCES_FORGOT;
    *absence = (struct absence){
        .open = true,
        .memory = forgot ? ABSENCES_FORGOT : memory,
        .disturbed = forgot,
        .kind = kind,
        .incarnation = incarnation,
        .harmed_ms = now_ms,
        .ended_ms = now_ms,
    };
    absences->figures[kind].times++;
}

void absences_harm(struct absences *absences, unsigned master, uint64_t incarnation,
                   uint64_t now_ms)
{
    struct absence *absence = &absences->absence[master];
    absence->incarnation = incarnation;
    absence->harmed_ms = now_ms;
    absence->noticed = false;
}

void absences_end(struct absences *absences, unsigned master, uint64_t now_ms)
{
    absences->absence[master].ended = true;
    absences->absence[master].ended_ms = now_ms;
}

static void notice(struct absence *absence, const char *reason, uint64_t now_ms)
{
    if (absence->noticed)
        return;
    absence->noticed = true;
    absence->noticed_ms = now_ms;
    snprintf(absence->reason, sizeof(absence->reason), "%s", reason);
}

/* A new incarnation says that the master rejoined after the harm. One that forgot nothing is
 * back when somebody shows it as active again. */
static bool is_back(const struct absence *absence, const struct absences_sight *sight,
                    uint64_t now_ms)
{
    if (!absence->ended || !sight->active)
        return false;
    if (absence->memory == ABSENCES_FORGOT ? sight->incarnation > absence->incarnation
                                           : absence->noticed && !sight->disturbed)
        return true;
    return !sight->disturbed && now_ms - absence->ended_ms >= ABSENCES_UNNOTICED_MS;
}

bool absences_look(struct absences *absences, unsigned master, const struct absences_sight *sight,
                   uint64_t now_ms)
{
    struct absence *absence = &absences->absence[master];
    if (!absence->open)
        return false;
    absence->disturbed |= sight->disturbed;
    if (sight->reason && strcmp(sight->reason, "forgot") == 0)
        absence->memory = ABSENCES_FORGOT; /* its settings had been weak before, say */
    if (!sight->active)
        notice(absence, sight->reason ? sight->reason : "", now_ms);
    else if (sight->incarnation > absence->incarnation)
        notice(absence, "taken back", now_ms); /* between two looks */
    if (!is_back(absence, sight, now_ms))
        return false;
    count_back(absences, absence, now_ms);
    absence->open = false;
    return true;
}

static unsigned set_of(const struct absences *absences, enum absences_memory least)
{
    unsigned set = 0;
    for (unsigned i = 0; i < ABSENCES_MASTERS; i++)
        if (absences->absence[i].open && absences->absence[i].memory >= least)
            set |= 1U << i;
    return set;
}

unsigned absences_open(const struct absences *absences)
{
    return set_of(absences, ABSENCES_KEPT);
}

unsigned absences_out(const struct absences *absences)
{
    return set_of(absences, ABSENCES_DOUBTED);
}
