/* Bounds of what is read and said. */
#ifndef API_TLS_BOUNDS_H
#define API_TLS_BOUNDS_H

enum {
    API_TLS_FILE_MAX = 256 * 1024, /* bytes of a file */
    API_TLS_CHAIN_MAX = 8,         /* certificates of a chain */
    API_TLS_WHY_MAX = 512,         /* bytes of a sentence about a file, terminated */
    API_TLS_PEER_WHY_MAX = 256,    /* bytes of a sentence about a client, terminated */
    API_TLS_SUBJECT_MAX = 128, /* bytes of a common name, terminated; a longer one counts as none */
};

#endif
