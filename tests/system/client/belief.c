#include "tests/system/client/belief.h"

#include "tests/lib/case.h"
#include "tests/lib/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HOLDS_MAX = 100000,
    TAIL_BYTES = 512, /* more than the last line */
};

struct line {
    uint64_t from_us;
    uint64_t till_us;
    uint64_t lost_us;
    int64_t token;
    char lock_id[FENCE_LOCK_ID_MAX + 1];
};

/* Reads a number and the space after it, at *@at. False: there is none. */
static bool read_number(const char **at, uint64_t *ret_number)
{
    char *end;
    *ret_number = strtoull(*at, &end, 10);
    if (end == *at || *end != ' ')
        return false;
    *at = end + 1;
    return true;
}

/* False: it is not one that a believer writes. */
static bool read_line(const char *text, struct line *ret_line)
{
    static const char lost[] = "LOST ";
    const bool is_loss = strncmp(text, lost, sizeof(lost) - 1) == 0;
    struct line line = {0};
    uint64_t token;
    if (is_loss)
        text += sizeof(lost) - 1;
    if (!read_number(&text, is_loss ? &line.lost_us : &line.from_us) ||
        (!is_loss && !read_number(&text, &line.till_us)) || !read_number(&text, &token))
        return false;
    const size_t len = strnlen(text, sizeof(line.lock_id));
    if (len < FENCE_LOCK_ID_MIN || len > FENCE_LOCK_ID_MAX || token == 0 ||
        line.from_us > line.till_us)
        return false;
    line.token = (int64_t)token;
    memcpy(line.lock_id, text, len);
    *ret_line = line;
    return true;
}

static struct belief_hold *add_hold(struct beliefs *beliefs, unsigned believer,
                                    const struct line *line)
{
    assert_in_range(beliefs->count, 0, HOLDS_MAX - 1);
    if ((beliefs->count & (beliefs->count - 1)) == 0) { /* a power of two is full */
        const size_t room = beliefs->count > 0 ? beliefs->count * 2 : 1;
        beliefs->holds = realloc(beliefs->holds, room * sizeof(beliefs->holds[0]));
        assert_non_null(beliefs->holds);
    }
    struct belief_hold *hold = &beliefs->holds[beliefs->count++];
    *hold = (struct belief_hold){
        .believer = believer,
        .from_us = line->from_us,
        .token = line->token,
    };
    memcpy(hold->lock_id, line->lock_id, sizeof(hold->lock_id));
    return hold;
}

/* @last is the hold that the line before was about; NULL: none. */
static struct belief_hold *take_line(struct beliefs *beliefs, struct belief_hold *last,
                                     unsigned believer, const struct line *line)
{
    const bool same =
        last && last->token == line->token && strcmp(last->lock_id, line->lock_id) == 0;
    if (line->lost_us > 0) {
        if (same)
            last->lost_us = line->lost_us;
        return last;
    }
    beliefs->observations++;
    if (!same)
        last = add_hold(beliefs, believer, line);
    last->till_us = line->till_us;
    return last;
}

void beliefs_read(struct beliefs *beliefs, const char *path, unsigned believer)
{
    char *text = text_read(path, 0);
    char *rest = text;
    struct belief_hold *last = NULL;
    for (char *newline; (newline = strchr(rest, '\n')) != NULL; rest = newline + 1) {
        struct line line = {0};
        *newline = '\0';
        if (!read_line(rest, &line))
            fail_msg("believer %u wrote: %s", believer, rest);
        last = take_line(beliefs, last, believer, &line);
    }
    assert_string_equal(rest, "");
    free(text);
}

void beliefs_fini(struct beliefs *beliefs)
{
    free(beliefs->holds);
}

static int by_from(const void *a, const void *b)
{
    const struct belief_hold *x = a, *y = b;
    return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

void beliefs_sort(struct beliefs *beliefs)
{
    if (beliefs->count > 0)
        qsort(beliefs->holds, beliefs->count, sizeof(beliefs->holds[0]), by_from);
}

bool belief_is_held_now(const char *path, uint64_t now_us, uint64_t within_us)
{
    char tail[TAIL_BYTES + 1];
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    if (fseek(file, -TAIL_BYTES, SEEK_END) < 0)
        rewind(file);
    const size_t len = fread(tail, 1, TAIL_BYTES, file);
    (void)fclose(file);
    if (len == 0 || tail[len - 1] != '\n')
        return false;
    tail[len - 1] = '\0';
    const char *newline = strrchr(tail, '\n');
    struct line line;
    return read_line(newline ? newline + 1 : tail, &line) && line.till_us + within_us > now_us;
}

/* Shows two holds, and fails the test. */
static void fail_about(const char *what, const struct belief_hold *a, const struct belief_hold *b)
{
    const struct belief_hold *both[] = {a, b};
    for (int i = 0; i < 2; i++)
        print_message("believer %u holds it from %" PRIu64 " to %" PRIu64 " us under token %" PRId64
                      " and lock id %s\n",
                      both[i]->believer, both[i]->from_us, both[i]->till_us, both[i]->token,
                      both[i]->lock_id);
    fail_msg("%s", what);
}

void beliefs_expect_one_holder(const struct beliefs *beliefs)
{
    for (size_t i = 1; i < beliefs->count; i++) /* in order: so each with the next is enough */
        if (beliefs->holds[i - 1].till_us > beliefs->holds[i].from_us)
            fail_about("two believers hold one lock at one time", &beliefs->holds[i - 1],
                       &beliefs->holds[i]);
}

void beliefs_expect_tokens_rise(const struct beliefs *beliefs)
{
    for (size_t i = 1; i < beliefs->count; i++)
        if (beliefs->holds[i - 1].token >= beliefs->holds[i].token)
            fail_about("a later hold has no higher token", &beliefs->holds[i - 1],
                       &beliefs->holds[i]);
}

/* The master that was absent during @sample; SAMPLE_MASTERS: none. */
static unsigned absent_during(const struct belief_masters *masters, const struct sample *sample)
{
    for (size_t i = 0; i < masters->absence_count; i++)
        if (masters->absences[i].from_us < sample->till_us &&
            masters->absences[i].till_us > sample->from_us)
            return masters->absences[i].master;
    return SAMPLE_MASTERS;
}

static void expect_majority(const struct belief_masters *masters, const struct belief_hold *hold,
                            const struct sample *sample)
{
    const unsigned absent = absent_during(masters, sample);
    unsigned copies = 0;
    for (unsigned i = 0; i < SAMPLE_MASTERS; i++)
        copies += i == absent || strcmp(sample->lock_id[i], hold->lock_id) == 0;
    if (copies > SAMPLE_MASTERS / 2)
        return;
    print_message("masters from %" PRIu64 " to %" PRIu64 " us: '%s' '%s' '%s'\n", sample->from_us,
                  sample->till_us, sample->lock_id[0], sample->lock_id[1], sample->lock_id[2]);
    for (size_t i = 0; i < masters->absence_count; i++)
        if (masters->absences[i].from_us < sample->till_us)
            print_message("master %u was absent from %" PRIu64 " to %" PRIu64 " us\n",
                          masters->absences[i].master + 1, masters->absences[i].from_us,
                          masters->absences[i].till_us);
    fail_about("no majority of the masters has the lock of a holder", hold, hold);
}

size_t beliefs_expect_masters_agree(const struct beliefs *beliefs,
                                    const struct belief_masters *masters)
{
    const struct sample *samples = masters->samples;
    size_t inside = 0;
    size_t k = 0;
    for (size_t i = 0; i < beliefs->count; i++) {
        const struct belief_hold *hold = &beliefs->holds[i];
        while (k < masters->sample_count && samples[k].from_us <= hold->from_us)
            k++;
        for (; k < masters->sample_count && samples[k].till_us < hold->till_us; k++) {
            expect_majority(masters, hold, &samples[k]);
            inside += absent_during(masters, &samples[k]) == SAMPLE_MASTERS;
        }
    }
    return inside;
}

static bool was_held_at(const struct belief_hold *hold, const struct belief_stop *stop)
{
    return hold->believer == stop->believer && hold->from_us < stop->from_us &&
           (hold->till_us > stop->till_us || hold->lost_us > stop->till_us);
}

size_t beliefs_expect_stopped_know(const struct beliefs *beliefs, const struct belief_stop *stops,
                                   size_t stop_count, uint64_t lease_most_us)
{
    size_t told = 0;
    for (size_t i = 0; i < beliefs->count; i++)
        for (size_t k = 0; k < stop_count; k++) {
            const struct belief_hold *hold = &beliefs->holds[i];
            const bool past_lease = stops[k].till_us - stops[k].from_us > lease_most_us;
            if (!past_lease || !was_held_at(hold, &stops[k]))
                continue;
            if (hold->till_us > stops[k].till_us)
                fail_about("a holder that was stopped past its lease holds on", hold, hold);
            told++;
        }
    return told;
}
