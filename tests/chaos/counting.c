#include "tests/chaos/counting.h"

#include "tests/chaos/witness.h"

#include <stdio.h>

enum {
    NAMES = 3,
    VALUES_MAX = 100,
    TIMEOUT_MS = 600,
    READS_PERMILLE = 200,
};

void counting_call(struct client *client)
{
    char path[64], body[64];
    const unsigned name = sim_rng_below(&client->rng, NAMES);
    const bool reads = sim_rng_chance(&client->rng, READS_PERMILLE);
    const unsigned values = reads ? 0 : sim_rng_between(&client->rng, 1, VALUES_MAX);
    snprintf(path, sizeof(path), "/v1/counters/chaos/%u", name);
    snprintf(body, sizeof(body), "{\"count\": %u}", values);
    const struct call_request request = {
        .port = client->config->door[sim_rng_below(&client->rng, CLIENT_DOORS)],
        .method = reads ? "GET" : "POST",
        .path = path,
        .body = reads ? NULL : body,
        .timeout_ms = TIMEOUT_MS,
    };
    witness_count(client, name, values, &request);
}
