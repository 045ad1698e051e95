#include "server/cli/suggest_verb.h"

#include "fence/base/minmax.h"

#include <assert.h>
#include <string.h>

enum {
    WORD_MAX = 16,  /* a longer word is not compared */
    SHORT_WORD = 4, /* words up to this length may have one slip */
    SLIPS_MOST = 2,
};

/* The names that other programs use for a verb. */
static const struct {
    const char *word;
    const char *meant; /* behind "pawl " */
} others[] = {
    {"status", "show NAME, or pawl fleet"},
    {"get", "show"},
    {"info", "show"},
    {"unlock", "release"},
    {"free", "release"},
    {"renew", "extend"},
    {"refresh", "extend"},
    {"run", "lock"},
    {"exec", "lock"},
    {"ls", "list"},
    {"masters", "fleet"},
    {"health", "fleet"},
    {"force", "break"},
    {"steal", "break"},
};

/* Returns the number of characters that are missing, too many, wrong, or swapped. */
static size_t slips(const char *a, const char *b)
{
    size_t distance[WORD_MAX + 1][WORD_MAX + 1];
    const size_t a_len = strlen(a), b_len = strlen(b);
    assert(a_len <= WORD_MAX && b_len <= WORD_MAX);
    for (size_t i = 0; i <= a_len; i++) {
        for (size_t j = 0; j <= b_len; j++) {
            distance[i][j] = i == 0 ? j : i;
            if (i == 0 || j == 0)
                continue;
            const size_t wrong = a[i - 1] != b[j - 1];
            distance[i][j] = fence_min(fence_min(distance[i - 1][j], distance[i][j - 1]) + 1,
                                       distance[i - 1][j - 1] + wrong);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                distance[i][j] = fence_min(distance[i][j], distance[i - 2][j - 2] + 1);
        }
    }
    return distance[a_len][b_len];
}

const char *cli_guess(const char *word, const char *const *verbs, size_t count)
{
    const char *nearest = NULL;
    const size_t len = strlen(word);
    size_t most = len > SHORT_WORD ? SLIPS_MOST : 1;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(word, others[i].word) == 0)
            return others[i].meant;
    for (size_t i = 0; i < count && len <= WORD_MAX; i++) {
        const size_t found = slips(word, verbs[i]);
        if (found > most || (found == most && nearest != NULL))
            continue;
        nearest = verbs[i];
        most = found;
    }
    return nearest;
}
