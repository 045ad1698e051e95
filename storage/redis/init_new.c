/* A new fleet, which never issued a token. */
#include "fence/protocol/lease.h"
#include "storage/redis/init_steps.h"
#include "storage/redis/keys.h"

#include <string.h>

static const struct fence_view nobody; /* was ever admitted */

static int refuse_marked(struct storage_init_session *session)
{
    for (unsigned i = 0; i < session->init->n; i++) {
        const struct fence_facts *facts = &session->seen[i];
        if (storage_init_blank(session, i) && storage_init_has_past(session, i))
            return storage_init_fail_at(
                session, i, FENCE_ECONFLICT,
                "a pawld init --token-floor was cut short on it: this fleet has granted tokens, "
                "and a new one would begin below them. Run that again, with the same T");
        if (!storage_init_blank(session, i))
            return storage_init_fail_at(
                session, i, FENCE_ECONFLICT,
                "it is already marked as member %u of the fleet %s. If that fleet is still in use, "
                "do not make a new one; if a majority of its masters lost their memory, run pawld "
                "init --token-floor; if you are certain that no token of it matters any more, "
                "delete the key " STORAGE_FLEET_KEY " on it and run init again",
                (unsigned)facts->member, facts->fleet_id);
    }
    return 0;
}

static int admit(struct storage_init_session *session, struct storage_init_marker *marker)
{
    unsigned n = session->init->n;
    unsigned admitted = 0;
    int error = storage_init_admit(session, marker, 0, &admitted);
    if (error && admitted >= fence_majority(n))
        storage_init_advise(session, ". The others are a majority: the fleet is made, and pawld "
                                     "takes this one in by itself. Do not run init again");
    else if (error)
        storage_init_advise(session, ". Others may be active already, and may have granted tokens: "
                                     "when it is mended, run pawld init --token-floor 0");
    return error;
}

/* All are claimed before one is admitted, so that no majority of a half-made fleet ever grants. */
static int make(struct storage_init_session *session, struct storage_init_marker *marker)
{
    storage_init_draw_view(&nobody, session->init->n, &marker->admitted);
    int error = storage_init_claim(session, marker);
    if (error) {
        storage_init_advise(session, ". Nothing can be granted yet: when it is mended, run init "
                                     "again");
        return error;
    }
    return admit(session, marker);
}

int storage_redis_init_new(const struct storage_redis_init *init,
                           char ret_fleet_id[static FENCE_ID_HEX_LEN + 1],
                           char ret_why[static STORAGE_WHY_MAX])
{
    struct storage_init_session session;
    struct storage_init_marker marker = {
        .ttl_max_ms = init->ttl_max_ms ? init->ttl_max_ms : FENCE_TTL_MAX_DEFAULT_MS,
        .view = nobody,
    };
    storage_init_draw_fleet_id(marker.fleet_id);
    int error = storage_init_begin(&session, init, ret_why);
    if (!error)
        error = storage_init_look(&session);
    if (!error)
        error = refuse_marked(&session);
    if (!error)
        error = make(&session, &marker);
    storage_init_fini(&session);
    if (!error)
        memcpy(ret_fleet_id, marker.fleet_id, sizeof(marker.fleet_id));
    return error;
}
