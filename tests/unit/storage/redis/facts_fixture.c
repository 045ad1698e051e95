#include "tests/unit/storage/redis/facts_fixture.h"

#include "tests/lib/case.h"
#include "tests/unit/storage/redis/wire.h"

#include <stdio.h>
#include <string.h>

const struct facts_marker facts_as_admitted = {
    FACTS_RUN_ID, "yes", FACTS_LINEAGE, "0::0", "", "active", "", "", "1,2,3", "", "", "", "",
    "",           ""};

int facts_read_wire(enum storage_question question, const char *wire,
                    struct storage_reading *reading)
{
    redisReply *reply = wire_reply(wire);
    int error = storage_facts_read(question, reply, FACTS_MASTERS, reading);
    freeReplyObject(reply);
    return error;
}

void facts_read_info(const char *more, struct storage_reading *reading)
{
    char text[FACTS_WIRE_MAX / 2];
    char wire[FACTS_WIRE_MAX];
    snprintf(text, sizeof(text),
             "# Server\r\n%sredis_version:7.0.15\r\nrun_id:" FACTS_RUN_ID "\r\n"
             "master_replid:" FACTS_REPL_ID "\r\nsecond_repl_offset:-1\r\nevicted_keys:3\r\n"
             "aof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
             "total_net_input_bytes:100\r\n",
             more);
    snprintf(wire, sizeof(wire), "$%zu\r\n%s\r\n", strlen(text), text);
    assert_int_equal(facts_read_wire(STORAGE_ASK_INFO, wire, reading), 0);
}

void facts_write_array(const char *const items[], size_t n, char wire[static FACTS_WIRE_MAX])
{
    size_t len = (size_t)snprintf(wire, FACTS_WIRE_MAX, "*%zu\r\n", n);
    for (size_t i = 0; i < n; i++)
        len += (size_t)(items[i][0] ? snprintf(wire + len, FACTS_WIRE_MAX - len, "$%zu\r\n%s\r\n",
                                               strlen(items[i]), items[i])
                                    : snprintf(wire + len, FACTS_WIRE_MAX - len, "$-1\r\n"));
}

void facts_read_config(const char *aof, const char *fsync, const char *rewrite,
                       struct storage_reading *reading)
{
    const char *const items[] = {
        "appendonly", aof, "appendfsync", fsync, "no-appendfsync-on-rewrite", rewrite};
    char wire[FACTS_WIRE_MAX];
    facts_write_array(items, 6, wire);
    assert_int_equal(facts_read_wire(STORAGE_ASK_CONFIG, wire, reading), 0);
}

void facts_read_marker(const struct facts_marker *marker, struct storage_reading *reading)
{
    const char *const fields[] = {FACTS_RUN_ID,
                                  "2",
                                  marker->run,
                                  "300000",
                                  marker->durable,
                                  marker->state,
                                  marker->view,
                                  marker->lineage,
                                  "",
                                  "",
                                  marker->init,
                                  marker->sets,
                                  "",
                                  "9",
                                  marker->intact,
                                  marker->doubt,
                                  "",
                                  marker->extensions,
                                  marker->closed,
                                  marker->answers,
                                  "",
                                  "",
                                  marker->writes,
                                  marker->positions,
                                  marker->predecessors};
    char wire[FACTS_WIRE_MAX];
    facts_write_array(fields, FACTS_MARKER_FIELDS, wire);
    assert_int_equal(facts_read_wire(STORAGE_ASK_MARKER, wire, reading), 0);
}

struct storage_reading facts_reading(const char *more, const struct facts_marker *marker)
{
    struct storage_reading reading = {0};
    facts_read_info(more, &reading);
    facts_read_config("yes", "always", "no", &reading);
    facts_read_marker(marker, &reading);
    return reading;
}

struct fence_facts facts_of(const char *more, const struct facts_marker *marker)
{
    return facts_reading(more, marker).facts;
}
