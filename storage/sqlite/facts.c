#include "storage/sqlite/facts.h"

#include "fence/master/marker.h"

#include <stdio.h>
#include <string.h>

static const struct fence_words in_memory = {
    "in-memory", "The folder of the fleet is in memory (tmpfs), so the fleet is lost when the "
                 "machine restarts. Give pawld a folder on a disk (--data)."};

void storage_facts_tell(const struct storage_state *state, struct fence_facts *ret_facts)
{
    const struct fence_turn *turn = &state->turn;
    const struct fence_stored_marker *marker = &turn->marker;
    struct fence_facts facts = {
        .exclusive = true, /* the file is locked */
        .server = "sqlite",
        .durable = turn->durable,
        .host = "local",
        .finding_words = &in_memory,
        .findings = !turn->durable,
    };
    (void)snprintf(facts.version, sizeof(facts.version), "%s", sqlite3_libversion());
    (void)snprintf(facts.persistence, sizeof(facts.persistence), "%s",
                   turn->durable ? "full" : "memory");
    memcpy(facts.server_id, state->server_id, sizeof(facts.server_id));
    memcpy(facts.lineage, state->lineage, sizeof(facts.lineage));
    fence_stored_marker_facts(marker, &facts);
    facts.intact =
        marker->present && (marker->active || marker->intact) && !fence_master_has_strayed(turn);
    *ret_facts = facts;
}

void storage_facts_restamp(struct storage_state *state, const struct fence_facts *seen)
{
    if (!fence_master_has_strayed(&state->turn))
        (void)fence_master_restamp(&state->turn, seen);
}
