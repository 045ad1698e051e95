#include "server/loop/audit.h"

#include "server/system/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MEASURE_MAX = 64,
};

void server_audit_init(struct server_audit *audit, unsigned n, bool tells)
{
    memset(audit, 0, sizeof(*audit));
    audit->tells = tells;
    fence_audit_init(&audit->found, n);
}

/* Writes the numbers of a finding, which its sentence leaves out. */
static void measure(const struct fence_audited *master, enum fence_finding finding,
                    char ret_text[static MEASURE_MAX])
{
    ret_text[0] = '\0';
    if (finding == FENCE_FINDING_CLOCK)
        snprintf(ret_text, MEASURE_MAX, " (%+" PRId64 " ms)", master->strayed_us / 1000);
    else if (finding == FENCE_FINDING_REPLICAS)
        snprintf(ret_text, MEASURE_MAX, " (%" PRIu32 ")", master->replicas);
}

static void log_master(struct server_audit *audit, unsigned i, const char *address)
{
    const struct fence_audited *master = &audit->found.master[i];
    assert(i < audit->found.n && audit->tells);
    for (int f = 0; f < FENCE_FINDINGS; f++) {
        enum fence_finding finding = (enum fence_finding)f;
        bool is = master->findings >> f & 1;
        bool was = audit->logged[i] >> f & 1;
        const unsigned key = i * FENCE_FINDINGS + (unsigned)f;
        if (!is && !was)
            continue;
        const struct fence_words *words = fence_finding_words(master, finding);
        char measured[MEASURE_MAX];
        measure(master, finding, measured);
        if (!was)
            server_log_few(SERVER_LOG_WARNING, key, "audit: master %u (%s): %s%s: %s", i + 1,
                           address, words->name, measured, words->text);
        else if (!is)
            server_log_few(SERVER_LOG_INFO, key, "audit: master %u (%s): the problem %s has ended",
                           i + 1, address, words->name);
    }
    audit->logged[i] = master->findings;
}

static void log_same_host(struct server_audit *audit)
{
    const struct fence_words *words = fence_finding_words(NULL, FENCE_FINDING_SAME_HOST);
    bool is = audit->found.same_host != 0;
    if (is && !audit->same_host_logged)
        server_log(SERVER_LOG_WARNING, "audit: %s: %s", words->name, words->text);
    else if (audit->same_host_logged && !is)
        server_log(SERVER_LOG_INFO, "audit: the problem %s has ended", words->name);
    audit->same_host_logged = is;
}

void server_audit_probed(struct server_audit *audit, unsigned i, const char *address,
                         const struct fence_facts *facts, uint64_t now_us)
{
    fence_audit_probed(&audit->found, i, facts, now_us);
    if (!audit->tells)
        return;
    log_master(audit, i, address);
    log_same_host(audit);
}
