#include "scripts/bench.d/programs/rows.h"

#include "fence/master/requests.h"
#include "fence/protocol/name.h"
#include "storage/sqlite/file.h"

#include <assert.h>
#include <err.h>
#include <stdio.h>
#include <string.h>

static struct client {
    char resource[ROWS_RESOURCE_MAX];
    char lock_id[FENCE_LOCK_ID_LEN + 1];
    unsigned attempt;
} clients[ROWS_CLIENTS_MAX];

static struct storage_file file;
static struct storage_state state;

void rows_open(const char *folder)
{
    char why[STORAGE_WHY_MAX];
    const struct storage_file_config config = {.folder = folder, .members = 1};
    if (storage_file_open(&config, &file, &state, why) != 0)
        errx(1, "%s", why);
    for (unsigned k = 0; k < ROWS_CLIENTS_MAX; k++)
        snprintf(clients[k].lock_id, sizeof(clients[k].lock_id), "%0*u", FENCE_LOCK_ID_LEN, k);
}

void rows_begin(void)
{
    storage_state_begin(&state);
}

static enum fence_reply_kind ask(const struct client *client, enum fence_request_kind kind)
{
    struct fence_master_answer answer;
    const struct fence_request request = {
        .kind = kind,
        .resource = client->resource,
        .lock_id = client->lock_id,
        .owner = "",
        .attempt = client->attempt,
        .ttl_ms = FENCE_TTL_DEFAULT_MS,
        .slot = (uint16_t)fence_slot(client->resource, strlen(client->resource)),
    };
    fence_master_do(&state.turn, FENCE_REFUSAL_NONE, &request, &answer);
    return answer.reply.kind;
}

bool rows_acquire(unsigned client, const char *resource)
{
    struct client *c = &clients[client];
    const size_t len = strlen(resource);
    assert(len < sizeof(c->resource));
    memcpy(c->resource, resource, len + 1);
    c->attempt++;
    return ask(c, FENCE_REQUEST_TAKE) == FENCE_REPLY_NUMBER;
}

bool rows_release(unsigned client)
{
    return ask(&clients[client], FENCE_REQUEST_RELEASE) == FENCE_REPLY_YES;
}

void rows_commit(void)
{
    if (!storage_state_end(&state))
        errx(1, "%s: %s", file.path, sqlite3_errstr(state.code));
    storage_file_committed(&file, state.commits);
    storage_file_checkpoint(&file);
}

const char *rows_lock_id(unsigned client)
{
    return clients[client].lock_id;
}

void rows_close(void)
{
    storage_file_close(&file, &state);
}
