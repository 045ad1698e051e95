/* Answers of a Redis as they come over the wire, and what is read out of them. */
#ifndef TESTS_UNIT_STORAGE_REDIS_FACTS_FIXTURE_H
#define TESTS_UNIT_STORAGE_REDIS_FACTS_FIXTURE_H

#include "storage/redis/facts.h"

enum {
    FACTS_MARKER_FIELDS = 25,
    FACTS_MARKER_CLOSED = 18,
    FACTS_WIRE_MAX = 4096,
    FACTS_MASTERS = 3,
};

#define FACTS_RUN_ID   "0123456789abcdef0123456789abcdef01234567"
#define FACTS_OTHER_ID "cccccccccccccccccccccccccccccccccccccccc"
#define FACTS_REPL_ID  "fedcba9876543210fedcba9876543210fedcba98"
#define FACTS_LINEAGE  FACTS_REPL_ID ":3"

/* Reads the bytes @wire as the answer to @question. */
int facts_read_wire(enum storage_question question, const char *wire,
                    struct storage_reading *reading);

/* INFO of a Redis 7.0.15 that never was anything but a master, with @more lines. The first line of
 * a field counts. */
void facts_read_info(const char *more, struct storage_reading *reading);

/* An array of bulk strings; "" where nothing is there. */
void facts_write_array(const char *const items[], size_t n, char wire[static FACTS_WIRE_MAX]);

void facts_read_config(const char *aof, const char *fsync, const char *rewrite,
                       struct storage_reading *reading);

/* The fields that differ from case to case; "" where one is not there. */
struct facts_marker {
    const char *run;
    const char *durable;
    const char *lineage;
    const char *sets;
    const char *init;
    const char *state;
    const char *intact;
    const char *doubt;
    const char *view;
    const char *extensions;
    const char *closed;
    const char *answers;
    const char *writes;
    const char *positions;
    const char *predecessors;
};

extern const struct facts_marker facts_as_admitted;

void facts_read_marker(const struct facts_marker *marker, struct storage_reading *reading);

/* The results of all three answers of a server that is configured durable. */
struct storage_reading facts_reading(const char *more, const struct facts_marker *marker);
struct fence_facts facts_of(const char *more, const struct facts_marker *marker);

#endif
