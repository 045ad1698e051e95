/* Bytes of connections come from clients, in pieces of any size. The accepted bytes must not depend
 * on where the pieces end. */
#include "api/wire/framing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct outcome {
    char *kept;
    size_t len;
    bool refused;
    enum api_framing_phase phase;
};

/* Feeds all in pieces of @piece bytes. */
static struct outcome feed(const uint8_t *data, size_t size, size_t piece)
{
    struct api_framing framing = {0};
    struct outcome outcome = {.kept = malloc(size + 1)};
    char *bytes = malloc(piece);
    assert(outcome.kept && bytes);
    for (size_t at = 0; at < size && !outcome.refused; at += piece) {
        size_t kept = 0;
        const size_t len = size - at < piece ? size - at : piece;
        memcpy(bytes, data + at, len);
        outcome.refused = api_framing_feed(&framing, bytes, len, &kept) != NULL;
        assert(kept <= len);
        memcpy(outcome.kept + outcome.len, bytes, kept);
        outcome.len += kept;
        if (api_framing_phase(&framing) == API_FRAMING_LOST)
            break; /* nothing may be fed any more */
    }
    outcome.phase = api_framing_phase(&framing);
    free(bytes);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how long pieces are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct outcome whole = feed(data + 1, size - 1, size - 1);
    struct outcome pieces = feed(data + 1, size - 1, 1 + data[0] % 16);
    assert(whole.refused == pieces.refused && whole.phase == pieces.phase);
    if (!whole.refused && whole.phase != API_FRAMING_LOST)
        assert(whole.len == pieces.len && memcmp(whole.kept, pieces.kept, whole.len) == 0);
    free(whole.kept);
    free(pieces.kept);
    return 0;
}
