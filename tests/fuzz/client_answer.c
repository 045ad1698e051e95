/* Answers come from servers, which may be anybody's: what the client for C makes of one, and the
 * command line of that. The first two bytes are of the status, the rest is the body. */
#include "api/client/client.h"
#include "server/cli/problem.h"

#include <assert.h>
#include <string.h>

enum {
    SENT_MS = 1000,
    TOOK_MS = 50,
    TTL_MS = 5000,
    STATUSES = 600,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_plain(const char *text)
{
    assert(client_is_plain(text, strlen(text)));
}

static void check_numbers(const struct client_answer *answer)
{
    const int64_t token = client_token(answer->json, "token");
    const int64_t ttl_ms = client_ttl(answer->json, TTL_MS);
    const int64_t deadline_ms = client_deadline(answer, TTL_MS);
    assert(token >= 0 && token <= CLIENT_TOKEN_MAX);
    assert(ttl_ms >= 0 && ttl_ms <= TTL_MS);
    assert(deadline_ms == -1 ||
           (deadline_ms >= SENT_MS && deadline_ms <= SENT_MS + TOOK_MS + TTL_MS));
}

static void check_problem(pawl_client *client, const struct client_answer *answer)
{
    char reason[CLI_REASON_MAX] = "";
    const int error = client_problem(client, answer);
    assert(error < 0 && error >= PAWL_EPROTOCOL);
    assert(client->reason[0] != '\0');
    expect_plain(client->reason);
    cli_problem_reason(client, "in PAWL_KEY", reason);
    expect_plain(reason);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pawl_client *client;
    if (!client && pawl_client_new(NULL, &client) < 0)
        return 0;
    if (size < 2)
        return 0;
    struct client_answer answer = {.sent_ms = SENT_MS,
                                   .came_ms = SENT_MS + TOOK_MS,
                                   .status = (data[0] << 8 | data[1]) % STATUSES};
    answer.json = client_parse((const char *)data + 2, size - 2);
    const char *type = client_text(answer.json, "type");
    if (type) {
        expect_plain(type);
        (void)snprintf(answer.type, sizeof(answer.type), "%s",
                       strncmp(type, "urn:pawl:", 9) == 0 ? type + 9 : "");
    }
    check_numbers(&answer);
    check_problem(client, &answer);
    client_answer_free(&answer);
    return 0;
}
