/* Random bytes in small pieces. ChaCha20 makes a page at a time, with a key from the operating
 * system for each page. A system call for each piece would cost more than the rest of a step. */
#ifndef SERVER_SYSTEM_RANDOM_H
#define SERVER_SYSTEM_RANDOM_H

#include "fence/protocol/limits.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SERVER_RANDOM_POOL = 4096, /* bytes */
    SERVER_LOCK_ID_BYTES = 20, /* 160 bits: no attacker guesses the lock id of another client */
};

/* Zeroed, it is empty and ready. */
struct server_random {
    size_t left;
    unsigned char pool[SERVER_RANDOM_POOL];
};

/* 64 fresh random bits. Bytes handed out are wiped from the pool. */
uint64_t server_random_u64(struct server_random *random);

/* A fresh lock id: SERVER_LOCK_ID_BYTES as base64url without padding (RFC 4648, section 5). */
void server_random_lock_id(struct server_random *random, char ret_id[static FENCE_LOCK_ID_LEN + 1]);

#endif
