/* A request as bytes of a script call: the keys of its locks, and its arguments
 * (storage/redis/lua/requests.lua is the other end). The bytes are the same for every master, so
 * they are made once. */
#ifndef STORAGE_REDIS_REQUEST_H
#define STORAGE_REDIS_REQUEST_H

#include "fence/protocol/message.h"
#include "storage/redis/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The letter of an extension with the lock id, the TTL and the cap of the extension before it. */
#define STORAGE_ALSO "A"

enum {
    STORAGE_SHARED_ARGS = 4, /* arguments that STORAGE_ALSO stands for */
};

enum {
    STORAGE_KEY_BYTES = sizeof(STORAGE_LOCK_KEY) + FENCE_RESOURCE_MAX + 16, /* with its length */
    STORAGE_ARGS_BYTES = 512,  /* the longest arguments for one lock, with their lengths */
    STORAGE_MEMBER_BYTES = 64, /* and what each one of a group adds to them */
};

struct storage_request {
    uint64_t tag;
    enum fence_request_kind kind;
    uint16_t locks; /* number of locks in the request */
    uint16_t args;  /* how many arguments */
    uint16_t keys_len;
    uint16_t args_len;
    uint16_t shared_len; /* length of the shared first arguments: an extension behind one with
                          * the same bytes has STORAGE_ALSO instead; 0: no extension */
    bool in_group;
    char keys_bytes[FENCE_GROUP_MAX * STORAGE_KEY_BYTES];
    char args_bytes[STORAGE_ARGS_BYTES + FENCE_GROUP_MAX * STORAGE_MEMBER_BYTES];
};

/* Encodes @request; borrows nothing of it afterwards. */
void storage_request_encode(const struct fence_request *request,
                            struct storage_request *ret_encoded);

/* RESP's length line, "<kind><number>\r\n", and a bulk string (redis.io, "RESP protocol spec").
 * They return the bytes written. */
size_t storage_resp_head(char *to, char kind, size_t number);
size_t storage_resp_bulk(char *to, const char *bytes, size_t len);
size_t storage_resp_number(char *to, uint64_t number);

#endif
