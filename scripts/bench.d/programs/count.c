/* pawl-bench-count: the values of named counters that a Pawl service gives in a second. A
 * connection takes --values of them twice a turn. A turn is printed as a pair, in one line of JSON.
 */
#include "scripts/bench.d/programs/closed_loop.h"
#include "scripts/bench.d/programs/names.h"
#include "scripts/bench.d/programs/tally.h"

#include <argp.h>
#include <stdio.h>
#include <unistd.h>

struct options {
    struct loop_options loop;
    unsigned values;
};

/* What is the same in all requests. */
struct texts {
    char names[64]; /* of this run alone */
    char body[64];
    int body_len;
};

static size_t write_count(void *context, const struct loop_lock *lock, char *ret_request)
{
    const struct texts *texts = context;
    return (size_t)snprintf(ret_request, LOOP_REQUEST_MAX,
                            "POST /v1/counters/%s%0*u HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                            texts->names, NAMES_DIGITS, lock->name, texts->body_len, texts->body);
}

static const struct argp_option option_list[] = {
    {"values", 'v', "COUNT", 0, "Values that a call takes (default 1)", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->loop;
        return 0;
    case 'v':
        options->values = (unsigned)tally_option(arg, 1, 1e6, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{.argp = &loop_argp}, {0}};
    static const struct argp argp = {
        .options = option_list,
        .parser = parse_option,
        .doc = "Measures how many values of named counters a Pawl service gives.",
        .children = children,
    };
    struct options options = {.values = 1};
    loop_options_init(&options.loop);
    argp_parse(&argp, argc, argv, 0, NULL, &options);

    struct texts texts;
    snprintf(texts.names, sizeof(texts.names), "bench/%d/", (int)getpid());
    texts.body_len = snprintf(texts.body, sizeof(texts.body), "{\"count\":%u}", options.values);
    const struct loop_service pawl = {
        .granted = 200,
        .id_member = "name",
        .write_acquire = write_count,
        .write_release = write_count,
        .context = &texts,
    };
    loop_run(&options.loop, &pawl);
    return 0;
}
