#include "server/ledger/metrics.h"

#include "api/http/problem_answer.h"
#include "api/metrics/answer.h"
#include "api/metrics/connections.h"
#include "api/metrics/process.h"
#include "server/ledger/page.h"
#include "server/ledger/routes.h"

#include <stdlib.h>

enum {
    LEDGER_TEXT_MAX = 64 * 1024, /* all samples that there can be, and more */
};

static uint64_t count_of(const struct ledger_metrics *metrics, const char *call_name,
                         enum api_problem problem)
{
    return api_calls_count(&metrics->calls, call_name, api_outcome_of_problem(problem));
}

static uint64_t count_both(const struct ledger_metrics *metrics, enum api_problem problem)
{
    return count_of(metrics, "claim_account", problem) +
           count_of(metrics, "write_account", problem);
}

static void write_guard(const struct ledger_metrics *metrics, struct api_metrics_text *text)
{
    api_metrics_counter(text, "pawl_ledger_writes_total", "Accepted writes.",
                        api_calls_count(&metrics->calls, "write_account", API_OUTCOME_DONE));
    api_metrics_counter(text, "pawl_ledger_claims_total",
                        "Accepted claims, including claims for accounts that do not exist yet.",
                        api_calls_count(&metrics->calls, "claim_account", API_OUTCOME_DONE) +
                            count_of(metrics, "claim_account", API_PROBLEM_NOT_FOUND));
    api_metrics_counter(text, "pawl_guard_refusals_total",
                        "Claims and writes that the guard rejected because of a stale token.",
                        count_both(metrics, API_PROBLEM_STALE_TOKEN));
    api_metrics_counter(text, "pawl_ledger_version_mismatches_total",
                        "Writes rejected because the account has another version.",
                        count_both(metrics, API_PROBLEM_VERSION_MISMATCH));
    api_metrics_counter(text, "pawl_ledger_tokens_missing_total",
                        "Claims and writes rejected because the token is missing.",
                        count_both(metrics, API_PROBLEM_TOKEN_REQUIRED));
}

static void write_figures(const struct ledger_metrics *metrics, struct api_metrics_text *text)
{
    const struct api_connection_figures connections = {
        .open_now = api_http_connections(metrics->http),
        .most = api_http_capacity(metrics->http),
        .accepted = api_http_accepted(metrics->http),
        .evicted = api_http_evicted(metrics->http),
    };
    api_calls_write(metrics->tables, LEDGER_TABLES, &metrics->counters, text);
    write_guard(metrics, text);
    api_metrics_connections(&connections, text);
    api_process_write(metrics->version, text);
}

static void show_ledger_metrics(struct api_request *request, void *context)
{
    const struct ledger_metrics *metrics = context;
    struct api_metrics_text text;
    char *buffer = malloc(LEDGER_TEXT_MAX);
    if (!buffer) {
        api_problem_answer(request, API_PROBLEM_NO_MEMORY);
        return;
    }
    api_metrics_begin(&text, buffer, LEDGER_TEXT_MAX);
    write_figures(metrics, &text);
    api_metrics_answer(request, &text);
    free(buffer);
}

void ledger_metrics_init(struct ledger_metrics *metrics, struct ledger *ledger, const char *version)
{
    static const struct api_route routes[] = {
        {API_GET, "/metrics", show_ledger_metrics, API_TAKES_NOTHING, API_RIGHT_READ, "metrics",
         API_COSTLY},
    };
    *metrics = (struct ledger_metrics){.version = version};
    metrics->tables[0] = ledger_routes(ledger);
    metrics->tables[1] = (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), metrics};
    metrics->tables[2] = api_page_routes(&ledger_page);
    metrics->calls = (struct api_calls){metrics->tables, LEDGER_TABLES, &metrics->counters};
}
