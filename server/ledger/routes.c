#include "server/ledger/routes.h"

#include "api/auth/auth.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/json/writer.h"
#include "fence/guard/guard.h"
#include "fence/protocol/limits.h"
#include "server/system/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ACCOUNT_BODY_MAX = 1024,  /* an id, a memo all of which is escaped, and numbers */
    REJECTION_JSON_MAX = 512, /* a resource of 255 characters, none of them escaped, and numbers */
    VERSION_DIGITS_MAX = 16,  /* of 2^53 - 1 */
};

static_assert((int)LEDGER_REJECTIONS_SHOWN <= (int)STORAGE_REJECTIONS_MAX,
              "more are shown than kept");

/* ---- what comes in --------------------------------------------------------------------------- */

static int read_id(struct api_request *request, const char **ret_id)
{
    const char *id = api_request_param(request, 0);
    if (!ledger_id_valid(id)) {
        api_problem_answer_detail(
            request, API_PROBLEM_INVALID,
            "id must be 1 to %d characters of A-Z a-z 0-9 . _ ~ - and must not be \".\" or \"..\".",
            LEDGER_ID_MAX);
        return FENCE_EINVAL;
    }
    char name[sizeof("accounts/") + LEDGER_ID_MAX];
    (void)snprintf(name, sizeof(name), "accounts/%s", id);
    if (!api_request_permits_name(request, name))
        return FENCE_EINVAL;
    *ret_id = id;
    return 0;
}

/* Reads the token; 0: there was none. A later check decides whether it is required: a malformed
 * header is reported before a missing one. */
static int read_token(struct api_request *request, int64_t *ret_token)
{
    int err = api_input_token(request, ret_token);
    if (err == FENCE_ENOENT)
        *ret_token = 0;
    return err == FENCE_ENOENT ? 0 : err;
}

/* Returns true, after an answer, if the call requires a token and has none. */
static bool lacks_token(struct api_request *request, const struct ledger *ledger, int64_t token)
{
    if (token != 0 || !ledger->guarded)
        return false;
    api_problem_answer(request, API_PROBLEM_TOKEN_REQUIRED);
    return true;
}

/* Parses an entity tag as this service makes them: a version in plain decimal digits, quoted (RFC
 * 9110, section 8.8.3). No other tag can match an account, so no other form is accepted: no list,
 * no weak tag, no asterisk. */
static bool parse_entity_tag(const char *text, int64_t *ret_version)
{
    size_t digits = text[0] == '"' ? strspn(text + 1, "0123456789") : 0;
    if (digits < 1 || digits > VERSION_DIGITS_MAX || text[1] == '0' ||
        strcmp(text + 1 + digits, "\"") != 0)
        return false;
    int64_t version = strtoll(text + 1, NULL, 10);
    if (version > FENCE_TOKEN_MAX)
        return false;
    *ret_version = version;
    return true;
}

/* Reads the version in If-Match; 0: there was none. */
static int read_expected_version(struct api_request *request, int64_t *ret_version)
{
    const char *text = api_request_header(request, API_HEADER_IF_MATCH);
    if (!text) {
        *ret_version = 0;
        return 0;
    }
    if (!parse_entity_tag(text, ret_version)) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "If-Match must be one version in double quotes, such as \"3\", "
                                  "from \"1\" to \"%" PRId64 "\".",
                                  FENCE_TOKEN_MAX);
        return FENCE_EINVAL;
    }
    return 0;
}

/* C0, DEL and C1 in @text, which is well-formed UTF-8: C1 is C2 80 to C2 9F there. */
static bool has_control_character(const char *text)
{
    for (const unsigned char *byte = (const unsigned char *)text; *byte != '\0'; byte++)
        if (*byte < 0x20 || *byte == 0x7f || (byte[0] == 0xc2 && byte[1] < 0xa0))
            return true;
    return false;
}

static int read_account_body(struct api_request *request, int64_t *ret_balance,
                             char memo[static LEDGER_MEMO_MAX + 1])
{
    const struct api_json_member members[] = {
        {.name = "balance",
         .type = API_JSON_INTEGER,
         .required = true,
         .min = -LEDGER_BALANCE_MAX,
         .max = LEDGER_BALANCE_MAX,
         .integer = ret_balance},
        {.name = "memo", .type = API_JSON_STRING, .min = 0, .max = LEDGER_MEMO_MAX, .string = memo},
    };
    memo[0] = '\0';
    int err = api_input_body(request, members, sizeof(members) / sizeof(members[0]));
    if (err)
        return err;
    if (has_control_character(memo)) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "memo has a control character. Send plain text without control "
                                  "characters.");
        return FENCE_EINVAL;
    }
    return 0;
}

/* ---- what goes out --------------------------------------------------------------------------- */

static void write_account_members(struct api_writer *writer, const struct ledger_account *account)
{
    api_write_string(writer, "id", account->id);
    api_write_integer(writer, "balance", account->balance);
    api_write_string(writer, "memo", account->memo);
    api_write_integer(writer, "version", account->version);
    if (account->token != 0)
        api_write_integer(writer, "token", account->token);
    else
        api_write_null(writer, "token");
}

/* Answers with the account; @tagged: also with its entity tag. Only a GET may have that tag. The
 * answer to a PUT may not, as the account is more than the client sent (RFC 9110, section
 * 9.3.4). */
static void answer_account(struct api_request *request, unsigned status,
                           const struct ledger_account *account, bool tagged)
{
    char body[ACCOUNT_BODY_MAX];
    struct api_writer writer;
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    write_account_members(&writer, account);
    api_write_end(&writer);

    struct api_answer answer = {.status = status, .body = body, .len = writer.len};
    char entity_tag[32];
    (void)snprintf(entity_tag, sizeof(entity_tag), "\"%" PRId64 "\"", account->version);
    if (tagged)
        answer.fields[0] = (struct api_field){"ETag", entity_tag};
    api_request_answer(request, &answer);
}

static void answer_stale(struct api_request *request, int64_t token, int64_t highest_token)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_STALE_TOKEN, NULL);
    api_write_integer(&writer, "token", token);
    api_write_integer(&writer, "highest_token", highest_token);
    api_problem_end(&writer, request, API_PROBLEM_STALE_TOKEN, -1);
}

static void answer_version_mismatch(struct api_request *request, int64_t version)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    const char *detail =
        version != 0
            ? NULL
            : "No account has this id, so no version matches. Create the account without If-Match.";
    api_problem_begin(&writer, body, API_PROBLEM_VERSION_MISMATCH, detail);
    if (version != 0)
        api_write_integer(&writer, "version", version);
    else
        api_write_null(&writer, "version");
    api_problem_end(&writer, request, API_PROBLEM_VERSION_MISMATCH, -1);
}

static void log_failure(const struct ledger *ledger, const char *call, int err)
{
    if (ledger->error[0] == '\0')
        return;
    if (err == FENCE_ESTALE)
        server_log_few(SERVER_LOG_WARNING, 0,
                       "%s: refused a stale token, but could not record the refusal: %s", call,
                       ledger->error);
    else
        server_log_few(SERVER_LOG_ERROR, 0, "%s failed: %s", call, ledger->error);
}

/* Answers failures that mean the same for every call. */
static void answer_error(struct api_request *request, int err)
{
    if (err == FENCE_EBUSY)
        api_problem_answer_detail(request, API_PROBLEM_NOT_READY,
                                  "Another process has locked the ledger's file. Nothing was "
                                  "changed. Retry after the seconds in Retry-After.");
    else
        api_problem_answer(request, api_problem_of(err));
}

/* ---- the calls ------------------------------------------------------------------------------- */

static void get_account(struct api_request *request, void *context)
{
    struct ledger *ledger = context;
    const char *id = NULL;
    if (read_id(request, &id) != 0)
        return;

    struct ledger_account account;
    int err = ledger_read(ledger, id, &account);
    log_failure(ledger, "read", err);
    if (err == FENCE_ENOENT)
        api_problem_answer_detail(request, API_PROBLEM_NOT_FOUND,
                                  "No account has this id. Create the account with PUT.");
    else if (err)
        answer_error(request, err);
    else
        answer_account(request, 200, &account, true);
}

static void claim_account(struct api_request *request, void *context)
{
    struct ledger *ledger = context;
    const char *id = NULL;
    int64_t token = 0;
    if (read_id(request, &id) != 0 || read_token(request, &token) != 0 ||
        lacks_token(request, ledger, token))
        return;

    struct ledger_account account;
    int64_t highest_token = 0;
    int err = ledger_claim(ledger, id, token, &account, &highest_token);
    log_failure(ledger, "claim", err);
    if (err == FENCE_ESTALE)
        answer_stale(request, token, highest_token);
    else if (err == FENCE_ENOENT)
        api_problem_answer_detail(request, API_PROBLEM_NOT_FOUND,
                                  "No account has this id. The claim is stored: create the account "
                                  "with PUT and the same token.");
    else if (err)
        answer_error(request, err);
    else
        answer_account(request, 200, &account, false);
}

static void put_account(struct api_request *request, void *context)
{
    struct ledger *ledger = context;
    struct ledger_write write = {.id = NULL};
    char memo[LEDGER_MEMO_MAX + 1];
    if (read_id(request, &write.id) != 0 || read_token(request, &write.token) != 0 ||
        read_expected_version(request, &write.expected_version) != 0 ||
        read_account_body(request, &write.balance, memo) != 0 ||
        lacks_token(request, ledger, write.token))
        return;
    write.memo = memo;

    struct ledger_written written;
    int err = ledger_write(ledger, &write, &written);
    log_failure(ledger, "write", err);
    if (err == FENCE_ESTALE)
        answer_stale(request, write.token, written.highest_token);
    else if (err == FENCE_ECONFLICT)
        answer_version_mismatch(request, written.version);
    else if (err)
        answer_error(request, err);
    else
        answer_account(request, written.created ? 201 : 200, &written.account, false);
}

static void write_listed_account(struct api_writer *writer, const struct ledger_listed *listed)
{
    api_write_object(writer, NULL);
    write_account_members(writer, &listed->account);
    api_write_integer(writer, "highest_token", listed->highest_token);
    api_write_end(writer);
}

/* @more: there may be accounts behind the last one. */
static void answer_accounts(struct api_request *request, const struct ledger_listed *listed,
                            size_t count, bool more)
{
    const size_t size = (count + 1) * ACCOUNT_BODY_MAX;
    char *body = malloc(size);
    if (!body) {
        api_problem_answer(request, API_PROBLEM_NO_MEMORY);
        return;
    }
    struct api_writer writer;
    api_writer_init(&writer, body, size);
    api_write_object(&writer, NULL);
    api_write_array(&writer, "accounts");
    for (size_t i = 0; i < count; i++)
        write_listed_account(&writer, &listed[i]);
    api_write_end(&writer);
    api_write_string(&writer, "next_after", more ? listed[count - 1].account.id : NULL);
    api_write_end(&writer);
    api_request_answer(request,
                       &(struct api_answer){.status = 200, .body = body, .len = writer.len});
    free(body);
}

/* Reports whether the key may see account @id. No page contains other accounts, or ends with
 * one. */
static bool may_see(void *context, const char *id)
{
    char name[sizeof("accounts/") + LEDGER_ID_MAX];
    (void)snprintf(name, sizeof(name), "accounts/%.*s", (int)LEDGER_ID_MAX, id);
    return api_auth_may_read(context, name);
}

static void list_accounts(struct api_request *request, void *context)
{
    struct ledger *ledger = context;
    struct ledger_listed listed[LEDGER_ACCOUNTS_SHOWN];
    char after[LEDGER_ID_MAX + 1] = "";
    size_t count = 0;
    const struct api_query_param params[] = {
        {"after", API_QUERY_TEXT, 0, LEDGER_ID_MAX, NULL, after},
    };
    if (api_input_query(request, params, sizeof(params) / sizeof(params[0])) != 0)
        return;
    const struct ledger_listing listing = {
        .after = after, .max = LEDGER_ACCOUNTS_SHOWN, .wants = may_see, .context = request};
    int err = ledger_list(ledger, &listing, listed, &count);
    log_failure(ledger, "list", err);
    if (err)
        answer_error(request, err);
    else
        answer_accounts(request, listed, count, count == LEDGER_ACCOUNTS_SHOWN);
}

static const char *kind_name(enum storage_rejection_kind kind)
{
    switch (kind) {
    case STORAGE_REJECTED_CLAIM:
        return "claim";
    case STORAGE_REJECTED_WRITE:
        return "write";
    case STORAGE_REJECTED_READ:
        return "read";
    case STORAGE_REJECTED_WRITE_BY_ID:
        return "write-by-id";
    }
    return "unknown"; /* a row from another version of this program */
}

static void write_rejection(struct api_writer *writer, const struct storage_rejection *rejection)
{
    api_write_object(writer, NULL);
    api_write_string(writer, "resource", rejection->resource);
    api_write_string(writer, "kind", kind_name(rejection->kind));
    api_write_integer(writer, "token", rejection->token);
    api_write_integer(writer, "highest_token", rejection->highest_token);
    api_write_integer(writer, "at_ms", rejection->at_ms);
    api_write_end(writer);
}

static void get_rejections(struct api_request *request, void *context)
{
    struct ledger *ledger = context;
    struct storage_rejection rejections[LEDGER_REJECTIONS_SHOWN];
    size_t count = 0;
    int err = ledger_rejections(ledger, LEDGER_REJECTIONS_SHOWN, rejections, &count);
    log_failure(ledger, "rejections", err);
    if (err) {
        answer_error(request, err);
        return;
    }
    assert(count <= LEDGER_REJECTIONS_SHOWN);

    char body[(LEDGER_REJECTIONS_SHOWN + 1) * REJECTION_JSON_MAX];
    struct api_writer writer;
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    api_write_array(&writer, "rejections");
    for (size_t i = 0; i < count; i++)
        if (api_auth_may_read(request, rejections[i].resource))
            write_rejection(&writer, &rejections[i]);
    api_write_end(&writer);
    api_write_end(&writer);
    api_request_answer(request, &(struct api_answer){
                                    .status = 200,
                                    .body = body,
                                    .len = writer.len,
                                });
}

struct api_routes ledger_routes(struct ledger *ledger)
{
    static const struct api_route routes[] = {
        {API_GET, "/v1/accounts/{id}", get_account, API_TAKES_NOTHING, API_RIGHT_READ,
         "read_account", API_CHEAP},
        {API_PUT, "/v1/accounts/{id}", put_account, API_TAKES_BODY, API_RIGHT_LOCK, "write_account",
         API_CHEAP},
        {API_POST, "/v1/accounts/{id}/claim", claim_account, API_TAKES_NOTHING, API_RIGHT_LOCK,
         "claim_account", API_CHEAP},
        {API_GET, "/v1/accounts", list_accounts, API_TAKES_QUERY, API_RIGHT_READ, "list_accounts",
         API_CHEAP},
        {API_GET, "/v1/rejections", get_rejections, API_TAKES_NOTHING, API_RIGHT_READ, "rejections",
         API_CHEAP},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), ledger};
}
