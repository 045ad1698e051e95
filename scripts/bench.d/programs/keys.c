/* Whether the time of a refusal tells which ids there are: a wrong secret for an id that is known,
 * beside an id that is not. Both are timed in turn, in one process, without a network around them.
 * Each round has keys and ids of its own, as where an id lies in memory costs some time, too.
 *
 * usage: pawl-bench-keys [ROUNDS [SAMPLES]]
 *
 * Prints a line of JSON: the medians, the mean difference of them over the rounds with its 95%
 * interval, and the same of two sets of unknown ids: what is measured where there is no difference.
 * Exit status 1: the interval is not within the bound. (Two one-sided tests: to find no difference
 * in a few samples would show nothing.) */
#include "api/auth/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

enum {
    KEYS = 1000, /* in the file */
    IDS = 256,   /* of each kind, in random order */
    ROUNDS = 40,
    ROUNDS_MAX = 1000,
    SAMPLES = 5000, /* of each kind, in a round */
    SAMPLES_MAX = 1000000,
    BATCH = 8,     /* calls in one sample */
    BOUND_NS = 10, /* of a call: a fiftieth of what it takes */
};

enum kind {
    KNOWN,
    UNKNOWN,
    OTHERS_UNKNOWN,
    KINDS
};

static char texts[KINDS][IDS][API_KEY_TEXT_MAX];
static double *times[KINDS];

static double clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct api_keys *make_key_set(void)
{
    const size_t size = (size_t)KEYS * 160;
    char *file = calloc(1, size), why[API_KEYS_WHY_MAX];
    char secret[API_SECRET_LEN + 1], hash[API_DIGEST_TEXT + 1];
    struct api_digest digest;
    struct api_keys *keys = NULL;
    size_t len = 0;
    for (unsigned i = 0; file != NULL && i < KEYS; i++) {
        api_secret_make(secret);
        api_digest_make(secret, &digest);
        api_digest_write(&digest, hash);
        len += (size_t)snprintf(file + len, size - len, "key-%05u hash=%s role=lock prefix=*\n", i,
                                hash);
    }
    if (file == NULL || api_keys_parse("keys", file, len, why, &keys) != 0)
        exit(2);
    free(file);
    return keys;
}

static void draw_texts(void)
{
    char secret[API_SECRET_LEN + 1];
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned i = 0; i < IDS; i++) {
            const unsigned id = kind * KEYS + randombytes_uniform(KEYS);
            api_secret_make(secret);
            (void)snprintf(texts[kind][i], API_KEY_TEXT_MAX, "pawl_key-%05u_%s", id, secret);
        }
}

/* One sample: nanoseconds of a call. */
static double time_calls(const struct api_keys *keys, enum kind kind)
{
    const unsigned first = randombytes_uniform(IDS);
    unsigned accepted = 0;
    const double begin_ns = clock_ns();
    for (unsigned i = 0; i < BATCH; i++)
        accepted += api_keys_verify(keys, texts[kind][(first + i) % IDS]) != NULL;
    const double took_ns = clock_ns() - begin_ns;
    if (accepted > 0)
        exit(2);
    return took_ns / BATCH;
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The kinds take turns, each time in another order. */
static void run_round(size_t samples, double ret_medians[static KINDS])
{
    struct api_keys *keys = make_key_set();
    draw_texts();
    for (size_t i = 0; i < samples; i++) {
        const unsigned first = randombytes_uniform(KINDS);
        for (unsigned k = 0; k < KINDS; k++) {
            const enum kind kind = (enum kind)((first + k) % KINDS);
            times[kind][i] = time_calls(keys, kind);
        }
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        qsort(times[kind], samples, sizeof(double), compare_times);
        ret_medians[kind] = times[kind][samples / 2];
    }
    api_keys_unref(keys);
}

/* The mean of the differences of two kinds, and half of its 95% interval (normal: many rounds). */
static double differ(double medians[][KINDS], size_t rounds, enum kind a, enum kind b,
                     double *ret_half)
{
    double sum = 0, squares = 0;
    for (size_t r = 0; r < rounds; r++)
        sum += medians[r][a] - medians[r][b];
    const double mean = sum / (double)rounds;
    for (size_t r = 0; r < rounds; r++)
        squares += pow(medians[r][a] - medians[r][b] - mean, 2);
    *ret_half = 1.96 * sqrt(squares / (double)(rounds - 1) / (double)rounds);
    return mean;
}

static double typical(double medians[][KINDS], size_t rounds, enum kind kind)
{
    double sum = 0;
    for (size_t r = 0; r < rounds; r++)
        sum += medians[r][kind];
    return sum / (double)rounds;
}

int main(int argc, char **argv)
{
    static double medians[ROUNDS_MAX][KINDS];
    const size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS;
    const size_t samples = argc > 2 ? strtoul(argv[2], NULL, 10) : SAMPLES;
    if (sodium_init() < 0 || rounds < 2 || rounds > ROUNDS_MAX || samples < 1 ||
        samples > SAMPLES_MAX)
        return 2;
    for (unsigned kind = 0; kind < KINDS; kind++)
        if ((times[kind] = calloc(samples, sizeof(double))) == NULL)
            return 2;
    for (size_t r = 0; r < rounds; r++)
        run_round(samples, medians[r]);

    double half, none_half;
    const double mean = differ(medians, rounds, KNOWN, UNKNOWN, &half);
    const double none = differ(medians, rounds, UNKNOWN, OTHERS_UNKNOWN, &none_half);
    const bool within = fabs(mean) + half <= BOUND_NS;
    printf("{\"rounds\": %zu, \"samples\": %zu, \"known_ns\": %.1f, \"unknown_ns\": %.1f, "
           "\"difference_ns\": %.2f, \"interval_ns\": %.2f, \"none_ns\": %.2f, "
           "\"none_interval_ns\": %.2f, \"bound_ns\": %d, \"within\": %s}\n",
           rounds, samples, typical(medians, rounds, KNOWN), typical(medians, rounds, UNKNOWN),
           mean, half, none, none_half, BOUND_NS, within ? "true" : "false");
    for (unsigned kind = 0; kind < KINDS; kind++)
        free(times[kind]);
    return within ? 0 : 1;
}
