#include "fence/base/keyed.h"

enum {
    ROUNDS = 2, /* rounds for each word */
    LAST_ROUNDS = 4,
    WORD = 8, /* bytes of a word */
};

struct sip {
    uint64_t v[4];
};

static uint64_t rotate_left(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void sip_round(struct sip *sip)
{
    uint64_t *v = sip->v;
    v[0] += v[1];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[0] = rotate_left(v[0], 32);
    v[2] += v[3];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[2] = rotate_left(v[2], 32);
}

static void mix_word(struct sip *sip, uint64_t word)
{
    sip->v[3] ^= word;
    for (int i = 0; i < ROUNDS; i++)
        sip_round(sip);
    sip->v[0] ^= word;
}

/* Returns up to eight bytes as a number, the first byte lowest. */
static uint64_t word_of(const unsigned char *bytes, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

uint64_t fence_keyed_hash(const void *bytes, size_t len, const uint64_t seed[static 2])
{
    const unsigned char *text = bytes;
    const size_t whole = len - len % WORD;
    struct sip sip = {
        {seed[0] ^ UINT64_C(0x736f6d6570736575), seed[1] ^ UINT64_C(0x646f72616e646f6d),
         seed[0] ^ UINT64_C(0x6c7967656e657261), seed[1] ^ UINT64_C(0x7465646279746573)}};
    for (size_t at = 0; at < whole; at += WORD)
        mix_word(&sip, word_of(text + at, WORD));
    mix_word(&sip, (uint64_t)len << 56 | word_of(text + whole, len % WORD));
    sip.v[2] ^= 0xff;
    for (int i = 0; i < LAST_ROUNDS; i++)
        sip_round(&sip);
    return sip.v[0] ^ sip.v[1] ^ sip.v[2] ^ sip.v[3];
}
