#include "tests/sim/adversary/play.h"

#include "fence/state/state.h"
#include "tests/sim/adversary/tell.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    STREAM = 0,
    MOVES = 3000,
    BEGIN_US = 1000 * 1000,
    TICKS_MAX = 4096, /* at a moment: some for each call, clean-up and master */
    EXTENSIONS = 10,
    TICKS_IN_TIME = 8, /* fewer than that, when the others come late */
    ANSWERS_MAX = 5,   /* in a move */

    HASTE_US = 3000,        /* the longest that a move lets pass, mostly; */
    PAUSE_US = 200 * 1000,  /* sometimes: masters are silent, timers late; */
    SLEEP_US = 6000 * 1000, /* and rarely: longer than any lease */
    END_US = (CALLS_TTL_MAX_MS + CALLS_WAIT_MAX_MS) * 1000, /* all is over by then */
};

/* Per mille. */
enum {
    FAILS = 250, /* a connection, when it is thought of */
    FAILS_HONEST = 50,
    FAILS_TO_OPEN = 250,
    CLOSES = 333,
    TICKS_LATE = 500,
    PAUSES = 250,
    SLEEPS = 25,
    SILENT_END = 500,
    UNREADABLE = 400, /* share of seeds: masters whose locks cannot be read */
};

void play_fail(struct play *play, const char *format, ...)
{
    if (!play_ok(play))
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(play->violation, sizeof(play->violation), format, arguments);
    va_end(arguments);
}

bool play_ok(const struct play *play)
{
    return play->violation[0] == '\0';
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void act(struct play *play, const struct fence_effect *effect)
{
    tell_effect(play->story, effect);
    if (effect->kind == FENCE_EFFECT_ANSWER) {
        answers_check(play, &effect->answer);
        return;
    }
    if (effect->masters >> play->masters != 0)
        play_fail(play, "an effect for the masters %#" PRIx32 " of %u", effect->masters,
                  play->masters);
    if (effect->kind == FENCE_EFFECT_SEND)
        answers_sent(play, &effect->request, effect->masters);
    for (unsigned i = 0; i < play->masters && play_ok(play); i++)
        if (effect->masters >> i & 1)
            link_act(play, i, effect);
}

void play_step(struct play *play, struct fence_event *event)
{
    struct fence_event declined;
    do {
        event->now_us = play->now_us;
        event->random = sim_rng_next(&play->rng);
        tell_event(play->story, event);
        fence_step(play->core, event, &play->effects);
        fence_core_check(play->core);
        play->stats.steps++;
        for (unsigned k = 0; k < play->effects.count && play_ok(play); k++)
            act(play, &play->effects.items[k]);
        links_check(play);
        if (fence_core_calls(play->core) != play->calls.open)
            play_fail(play, "%u calls are under way, and %u were not answered",
                      fence_core_calls(play->core), play->calls.open);
        event = &declined;
    } while (play_ok(play) && answers_decline(play, &declined));
}

/* All that is due now, or @most of it: a tick may come late, and other things happen first. */
static void tick(struct play *play, unsigned most)
{
    unsigned ticks = 0;
    for (; ticks < most && play_ok(play); ticks++) {
        if (fence_core_deadline(play->core) > play->now_us)
            return;
        struct fence_event event = {.kind = FENCE_EVENT_TICK};
        play->stats.ticks++;
        play_step(play, &event);
    }
    if (ticks == TICKS_MAX)
        play_fail(play, "there is something to do after %u ticks at a moment", ticks);
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void shake(struct play *play)
{
    link_shake(play, play_below(play, play->masters));
}

static void fail(struct play *play)
{
    unsigned i = play_below(play, play->masters);
    uint32_t fails = play->links[i].state == LINK_CLOSED ? FAILS_TO_OPEN
                     : play->honest                      ? FAILS_HONEST
                                                         : FAILS;
    if (play_chance(play, fails))
        link_fail(play, i);
}

static void answer(struct play *play)
{
    for (unsigned k = play_below(play, ANSWERS_MAX + 1); k > 0 && play_ok(play); k--)
        link_answer(play, play_below(play, play->masters));
}

/* Honest masters are not silent. */
static void answer_all(struct play *play)
{
    for (unsigned i = 0; i < play->masters; i++)
        for (unsigned k = play->links[i].count; k > 0 && play_ok(play); k--)
            link_answer(play, i);
}

static void wait(struct play *play)
{
    if (play->honest)
        answer_all(play);
    play->now_us += play_below(play, play_chance(play, PAUSES) ? PAUSE_US : HASTE_US);
    if (play_chance(play, SLEEPS))
        play->now_us += play_below(play, SLEEP_US);
    tick(play, play_chance(play, TICKS_LATE) ? play_below(play, TICKS_IN_TIME) : TICKS_MAX);
}

static void probe(struct play *play)
{
    link_probe(play, play_below(play, play->masters));
}

/* The process did not run for a while. */
static void lag(struct play *play)
{
    struct fence_event event = {.kind = FENCE_EVENT_LAGGED, .lag_us = play_below(play, SLEEP_US)};
    play->now_us += event.lag_us;
    play->stats.lags++;
    play_step(play, &event);
}

static void move(struct play *play)
{
    static const struct {
        unsigned percent;
        void (*make)(struct play *play);
    } moves[] = {
        {36, answer}, {20, calls_make}, {18, shake}, {12, wait}, {5, calls_leave},
        {4, fail},    {3, calls_hear},  {1, probe},  {1, lag},
    };
    unsigned k = 0;
    for (unsigned left = play_below(play, 100); left >= moves[k].percent; k++)
        left -= moves[k].percent;
    play->honest = play_chance(play, play->honesty);
    moves[k].make(play);
    if (play_chance(play, CLOSES) && play_ok(play))
        links_close_reset(play);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Their connections break; or they say nothing any more, and it is for the core to give them up. */
static void lose_masters(struct play *play)
{
    bool silent = play_chance(play, SILENT_END);
    links_close_reset(play);
    for (unsigned i = 0; i < play->masters && !silent && play_ok(play); i++)
        if (play->links[i].state != LINK_CLOSED)
            link_fail(play, i);
}

static void let_time_pass(struct play *play)
{
    uint64_t end_us = play->now_us + END_US;
    uint64_t due_us = 0;
    while (play_ok(play) && (due_us = fence_core_deadline(play->core)) != FENCE_NEVER) {
        if (due_us > end_us) {
            play_fail(play, "something is to be done later than %u ms after the end",
                      END_US / 1000);
            return;
        }
        if (due_us > play->now_us)
            play->now_us = due_us;
        tick(play, TICKS_MAX);
        links_close_reset(play);
    }
}

static void check_nothing_left(struct play *play)
{
    const struct fence_core *core = play->core;
    if (play->calls.open > 0)
        play_fail(play, "%u calls were never answered", play->calls.open);
    if (fence_core_calls(core) > 0 || fence_core_waiting(core) > 0 || core->groups.used_count > 0)
        play_fail(play, "left: %u calls, %u that wait, %" PRIu32 " groups", fence_core_calls(core),
                  fence_core_waiting(core), core->groups.used_count);
    for (unsigned k = 0; k < CALLS_CLIENTS; k++)
        if (core_clients_find(&core->clients, k) != FENCE_NOBODY)
            play_fail(play, "client %u is still known", k);
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static void begin(struct play *play, uint64_t seed)
{
    static const unsigned masters[] = {1, 3, 3, 5, 7};
    static const uint32_t calls[] = {1, 8, CALLS_UNDER_WAY_MAX};
    static const uint32_t waiters[] = {0, 4, CALLS_UNDER_WAY_MAX};
    static const uint32_t honesty[] = {0, 750, 950, 990};
    sim_rng_init(&play->rng, seed, STREAM);
    play->masters = masters[play_below(play, sizeof(masters) / sizeof(masters[0]))];
    play->honesty = honesty[play_below(play, sizeof(honesty) / sizeof(honesty[0]))];
    play->unreadable = play_chance(play, UNREADABLE);
    play->now_us = BEGIN_US;
    play->violation[0] = '\0';
    lies_init(&play->lies);
    calls_init(&play->calls);
    answers_init(&play->answers);
    links_init(play);
    struct fence_config config = {
        .masters = play->masters,
        .calls = calls[play_below(play, sizeof(calls) / sizeof(calls[0]))],
        .waiters = waiters[play_below(play, sizeof(waiters) / sizeof(waiters[0]))],
        .extensions = EXTENSIONS,
        .seed = sim_rng_next(&play->rng),
    };
    if (fence_core_new(&config, &play->core))
        abort(); /* no memory */
}

bool play_seed(struct play *play, uint64_t seed, FILE *story)
{
    play->story = story;
    begin(play, seed);
    for (unsigned k = 0; k < MOVES && play_ok(play); k++)
        move(play);
    lose_masters(play);
    let_time_pass(play);
    check_nothing_left(play);
    fence_core_free(play->core);
    play->core = NULL;
    return play_ok(play);
}

struct play *play_new(void)
{
    return calloc(1, sizeof(struct play));
}

void play_free(struct play *play)
{
    free(play);
}
