/* The results of the client for C for answers, for the fuzzers of the other clients to compare
 * with. Reads a line for each answer: acquire or extend, the lease that was asked for in ms, how
 * long the answer took in ms, the status, and the body in hexadecimal. Writes a line for each: the
 * kind of error, or granted, the token, and how many ms are left. */
#include "api/client/client.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX_BYTES = 1 << 20,
    HEX_BASE = 16,
    DECIMAL = 10,
};

/* No answer of the fuzzers names the lock or the lock id of the call: the first is a number or the
 * kind of the call, the second is random. */
#define NAME_OF_CALL "\x01name"
#define ID_OF_CALL   "\x01id"

static const char type_prefix[] = "urn:pawl:";

static size_t unhex(char *text)
{
    size_t len = 0;
    for (const char *at = text; at[0] > ' ' && at[1] > ' '; at += 2) {
        const char pair[] = {at[0], at[1], '\0'};
        text[len++] = (char)strtol(pair, NULL, HEX_BASE);
    }
    return len;
}

static int read_grant(const struct client_answer *answer, bool extends, int64_t asked_ms,
                      int64_t *ret_token, int64_t *ret_left_ms)
{
    const int64_t ttl_ms = extends ? asked_ms : client_ttl(answer->json, asked_ms);
    const bool has_token = !extends || answer->status == 201;
    const int64_t token = has_token ? client_token(answer->json, "token") : 0;
    const int64_t deadline_ms = client_deadline(answer, ttl_ms);
    if (ttl_ms == 0 || deadline_ms < 0 || (has_token && token == 0) ||
        !client_is_about(answer, ID_OF_CALL, NAME_OF_CALL))
        return PAWL_EPROTOCOL;
    *ret_token = token;
    *ret_left_ms = deadline_ms - answer->came_ms;
    return 0;
}

static void read_answer(pawl_client *client, char *line)
{
    int64_t token = 0, left_ms = 0;
    char *at = line + strcspn(line, " ");
    const bool extends = strncmp(line, "extend ", 7) == 0;
    const int64_t asked_ms = strtoll(at, &at, DECIMAL);
    struct client_answer answer = {.came_ms = strtoll(at, &at, DECIMAL),
                                   .status = strtol(at, &at, DECIMAL)};
    assert(*at == ' ');
    at++;
    answer.json = client_parse(at, unhex(at));
    const char *type = client_text(answer.json, "type");
    if (type && strncmp(type, type_prefix, sizeof(type_prefix) - 1) == 0)
        (void)snprintf(answer.type, sizeof(answer.type), "%s", type + sizeof(type_prefix) - 1);
    const bool is_grant =
        extends ? answer.status < 300 : answer.status == 200 || answer.status == 201;
    const int error = is_grant ? read_grant(&answer, extends, asked_ms, &token, &left_ms)
                               : client_problem(client, &answer);
    client_answer_free(&answer);
    if (error == 0)
        (void)printf("granted %lld %lld\n", (long long)token, (long long)left_ms);
    else
        (void)printf("%s\n", pawl_error_name(error));
    (void)fflush(stdout);
}

int main(void)
{
    pawl_client *client = NULL;
    char *line = malloc(LINE_MAX_BYTES);
    assert(line);
    assert(pawl_client_new(NULL, &client) == 0);
    while (fgets(line, LINE_MAX_BYTES, stdin))
        read_answer(client, line);
    pawl_client_free(client);
    free(line);
    return EXIT_SUCCESS;
}
