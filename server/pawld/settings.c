#include "server/pawld/settings.h"

#include "fence/bootstrap/bootstrap.h"
#include "server/loop/driver.h"
#include "server/loop/worker.h"
#include "server/pawld/password.h"
#include "storage/redis/master.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define AT(member) .at = offsetof(struct pawld_options, member)
#define COUNTED(member, size)                                                                      \
    AT(member), .count_at = offsetof(struct pawld_options, member##_count), .max = (size)
#define FROM_TO(least, most) .min = (least), .max = (most)

static const char *const ask_words[] = {[FENCE_ASK_MAJORITY] = "majority",
                                        [FENCE_ASK_SPREAD] = "spread",
                                        [FENCE_ASK_ALL] = "all",
                                        NULL};

static const char *const form_words[] = {
    [SERVER_LOG_PLAIN] = "plain", [SERVER_LOG_JSON] = "json", NULL};

static const char *const level_words[] = {
    [SERVER_LOG_TRACE] = "trace",     [SERVER_LOG_DEBUG] = "debug", [SERVER_LOG_INFO] = "info",
    [SERVER_LOG_WARNING] = "warning", [SERVER_LOG_ERROR] = "error", NULL};

/* In the order of the sample. */
const struct pawld_setting pawld_settings[] = {
    {.name = "listen",
     .argument = "ADDRESS",
     .kind = PAWLD_TEXTS,
     .commands = PAWLD_SERVE,
     COUNTED(http.listens.address, SERVER_LISTENS_MAX),
     .usual = "127.0.0.1:7380",
     .help = "Where to serve HTTP, up to 8 times: HOST:PORT with an IP address, localhost or a "
             "name, of which all addresses are taken as they are at the start; :PORT for all "
             "addresses of the machine; or unix:/PATH. Port 0 takes a free one. With --tls-cert a "
             "port speaks TLS, unless http:// stands before it. Without this setting pawld also "
             "serves at unix:$RUNTIME_DIRECTORY/pawld.sock, where systemd sets that"},
    {.name = "metrics-listen",
     .argument = "ADDRESS",
     .kind = PAWLD_TEXTS,
     .commands = PAWLD_SERVE,
     COUNTED(http.listens.metrics, SERVER_LISTENS_MAX),
     .help = "Where to serve /metrics, /livez and /readyz and nothing else, up to 8 times. They "
             "are served at --listen too"},
    {.name = "tls-cert",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(http.tls.cert),
     .help = SERVER_TLS_CERT_HELP},
    {.name = "tls-key",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(http.tls.key),
     .help = SERVER_TLS_KEY_HELP},
    {.name = "tls-client-ca",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(http.tls.client_ca),
     .help = SERVER_TLS_CLIENT_CA_HELP},
    {.name = "tls-client",
     .argument = "HOW",
     .kind = PAWLD_WORD,
     .commands = PAWLD_SERVE,
     AT(http.tls.client),
     .words = server_tls_client_words,
     .usual = "required",
     .help = SERVER_TLS_CLIENT_HELP},
    {.name = "tls-priorities",
     .argument = "TEXT",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(http.tls.priorities),
     .help = SERVER_TLS_PRIORITIES_HELP},
    {.name = "host",
     .argument = "NAME",
     .kind = PAWLD_TEXTS,
     .commands = PAWLD_SERVE,
     COUNTED(http.hosts, SERVER_HOSTS_MAX),
     .fits = api_site_is_name,
     .must = "a name such as locks.example.com, without scheme or port",
     .help = "A name under which clients reach the service, without port; up to 16 times. Requests "
             "with an IP address or localhost as Host are always served, those with any other name "
             "are refused"},
    {.name = "cors-origin",
     .argument = "ORIGIN",
     .kind = PAWLD_TEXTS,
     .commands = PAWLD_SERVE,
     COUNTED(http.origins, API_ORIGINS_MAX),
     .fits = api_cors_is_origin,
     .must = SERVER_CORS_MUST,
     .help = SERVER_CORS_HELP},

    {.name = "keys",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(http.keys),
     .must = "a key file",
     .help =
         "The key file: a line for each key that clients may call with, as pawl key new prints "
         "it. What keys used up of rate= and held= is forgotten at a restart. Without this setting "
         "everybody who reaches the service may call everything"},
    {.name = "open",
     .kind = PAWLD_FLAG,
     .commands = PAWLD_SERVE,
     AT(http.open),
     .usual = "no",
     .help = "Without --keys: listen also where other machines reach the service. Whoever does may "
             "call everything"},

    {.name = "data",
     .argument = "FOLDER",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(data),
     .must = "a folder",
     .help = "Serve from a file in this folder, without any Redis. It is made where it is not "
             "there. Without --master and --data it is $STATE_DIRECTORY; else /var/lib/pawl for "
             "root, and pawl-data for others"},
    {.name = "data",
     .argument = "FOLDER",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_INIT,
     AT(data),
     .must = "a folder",
     .help = "The folder of a fleet that is a file, in place of --master"},
    {.name = "data",
     .argument = "FOLDER",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_MOVE,
     .only_option = true,
     AT(data),
     .must = "a folder",
     .help = "The folder of the fleet that is moved. No pawld may serve from it"},
    {.name = "from",
     .argument = "URL",
     .kind = PAWLD_URLS,
     .commands = PAWLD_MOVE,
     .only_option = true,
     COUNTED(from, FENCE_MASTERS_MAX),
     .help = "A master of the fleet that is moved, as in --master. Give it once for each, in the "
             "order that the fleet was made with"},
    {.name = "master",
     .argument = "URL",
     .kind = PAWLD_URLS,
     .commands = PAWLD_EVERY,
     COUNTED(masters, FENCE_MASTERS_MAX),
     .help = "A master: redis://[user:password@]host:port, rediss:// in its place for TLS, or "
             "unix:///path. Give it once for each, in the same order for every pawld and for init"},
    {.name = "master-password-file",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_EVERY,
     AT(password_file),
     .help =
         "The first line of FILE is the password of all masters whose URLs have none. SIGHUP has "
         "it read again. Without this setting it is " PAWLD_PASSWORD_VARIABLE
         " of the environment"},
    {.name = "master-ca",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_EVERY,
     AT(tls_files.ca),
     .help = "For rediss://: the authorities whose certificates are believed, in PEM (default: "
             "those of the system)"},
    {.name = "master-cert",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_EVERY,
     AT(tls_files.cert),
     .help = "For rediss://: the certificate that is shown to masters, in PEM, with --master-key"},
    {.name = "master-key",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_EVERY,
     AT(tls_files.key),
     .help = "The key of --master-cert, in PEM"},

    {.name = "new",
     .kind = PAWLD_FLAG,
     .commands = PAWLD_INIT,
     .only_option = true,
     AT(is_new),
     .help = "This fleet never issued a token: its tokens start at 1"},
    {.name = "token-floor",
     .argument = "T",
     .kind = PAWLD_BIG,
     .commands = PAWLD_INIT,
     .only_option = true,
     AT(token_floor),
     FROM_TO(0, FENCE_FLOOR_SEEN_MAX),
     .help =
         "A majority of this fleet lost its memory: its tokens go on above T, the highest token "
         "that any guard has seen"},
    {.name = "token-floor",
     .argument = "T",
     .kind = PAWLD_BIG,
     .commands = PAWLD_MOVE,
     .only_option = true,
     AT(token_floor),
     FROM_TO(0, FENCE_FLOOR_SEEN_MAX),
     .help = "With --from, where too many masters lost their memory: T is the highest token that "
             "any guard has seen"},
    {.name = "max-ttl-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(ttl_max_ms),
     FROM_TO(FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS),
     .usual = "300000",
     .help = "With --data, where that is new: the longest lease that it will ever grant"},
    {.name = "max-ttl-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_INIT,
     AT(ttl_max_ms),
     FROM_TO(FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS),
     .help = "The longest lease that this fleet will ever grant (default 300000). With "
             "--token-floor: the longest lease that it had, if no master remembers it"},
    {.name = "max-ttl-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_MOVE,
     AT(ttl_max_ms),
     FROM_TO(FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS),
     .help = "The longest lease that the fleet will grant then. After --data: no shorter than "
             "before (default: as before)"},
    {.name = "max-extensions",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(extensions_max),
     FROM_TO(1, FENCE_EXTENSIONS_CEILING),
     .usual = "1000000",
     .help = "With --data, where that is new: how often a grant may be extended, 1 to 1000000000"},
    {.name = "max-extensions",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_INIT,
     AT(extensions_max),
     FROM_TO(1, FENCE_EXTENSIONS_CEILING),
     .help = "How often a grant may be extended, 1 to 1000000000 (default 1000000). With "
             "--token-floor: as before, where a master remembers it"},
    {.name = "readers",
     .argument = "K",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_INIT,
     AT(readers),
     FROM_TO(1, FENCE_READERS_MAX),
     .help = "How many may read at a time under one read-write lock, 1 to 63 (default 32). With "
             "--token-floor: as before, where a master remembers it"},
    {.name = "max-extensions",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_MOVE,
     AT(extensions_max),
     FROM_TO(1, FENCE_EXTENSIONS_CEILING),
     .help = "How often a grant may be extended then, 1 to 1000000000 (default: as before)"},
    {.name = "max-counters",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(counters_max),
     FROM_TO(1, FENCE_COUNTERS_CEILING),
     .usual = "100000",
     .help = "How many named counters the fleet may have, up to 10000000; another new name is "
             "refused with 409. Give every pawld the same"},

    {.name = "ask",
     .argument = "MASTERS",
     .kind = PAWLD_WORD,
     .commands = PAWLD_SERVE,
     AT(ask),
     .words = ask_words,
     .usual = "majority",
     .help =
         "Which masters a call asks first: majority, the same for all names; spread, a majority "
         "by the slot of the name; or all. The first two ask others where one is slow or does "
         "not answer"},
    {.name = "master-deadline-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(deadline_ms),
     FROM_TO(FENCE_MASTER_DEADLINE_MIN_US / 1000, FENCE_MASTER_DEADLINE_MAX_US / 1000),
     .help = "How long a master that owes an answer may be silent until it counts as gone, 5 to "
             "5000. Masters in regions that lie far apart need several round trips. A call of a "
             "short lease waits for a tenth of that at most (default: 50; for a file 2000, as no "
             "other master could be asked)"},
    {.name = "probe-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(probe_ms),
     FROM_TO(STORAGE_PROBE_MIN_MS, STORAGE_PROBE_MAX_MS),
     .usual = "500",
     .help = "How long from one probe of a master to the next, 10 to 10000. One that is silent for "
             "four probes and for two seconds does not vote"},
    {.name = "no-module",
     .kind = PAWLD_FLAG,
     .commands = PAWLD_SERVE,
     AT(refuses_module),
     .usual = "no",
     .help = "Ask masters by Lua scripts alone, also where they have the module pawl-master"},
    {.name = "workers",
     .argument = "K",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(workers),
     FROM_TO(1, SERVER_WORKERS_MAX),
     .help = "How many event loops serve clients, 1 to 64, each with its own connections to the "
             "masters (default: one for each two cores)"},

    {.name = "max-waiters",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(waiters_max),
     FROM_TO(0, SERVER_CALLS),
     .usual = "12288",
     .help = "How many calls may wait for locks at a time; one more is refused with 429. The "
             "workers have equal shares, rounded up"},
    {.name = "max-connections",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(connections_max),
     FROM_TO(1, API_HTTP_CONNECTIONS_MAX),
     .usual = "16384",
     .help = "How many clients may be connected at a time; others wait to be accepted. Fewer where "
             "the limit of descriptors (ulimit -n) is lower. The workers have equal shares, "
             "rounded up"},
    {.name = "idle-timeout-s",
     .argument = "S",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(http.idle_s),
     FROM_TO(1, API_HTTP_IDLE_MAX_S),
     .usual = "75",
     .help = "How long a connection may say nothing between two requests, 1 to 3600 seconds. One "
             "whose request waits is not idle"},
    {.name = "head-timeout-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(http.head_ms),
     FROM_TO(API_HTTP_WAIT_MIN_MS, API_HTTP_WAIT_MAX_MS),
     .usual = "10000",
     .help = "The time for a request's line and headers to arrive, 100 to 3600000"},
    {.name = "body-timeout-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(http.body_ms),
     FROM_TO(API_HTTP_WAIT_MIN_MS, API_HTTP_WAIT_MAX_MS),
     .usual = "10000",
     .help = "The time for a request's body to arrive, 100 to 3600000"},

    {.name = "log-form",
     .argument = "FORM",
     .kind = PAWLD_WORD,
     .commands = PAWLD_SERVE,
     AT(log_form),
     .words = form_words,
     .usual = "plain",
     .help =
         "How lines of the log on stderr are written: plain, or json, an object each with time, "
         "level, program, message and, where a line is about one, worker and master"},
    {.name = "log-level",
     .argument = "LEVEL",
     .kind = PAWLD_WORD,
     .commands = PAWLD_SERVE,
     AT(log_level),
     .words = level_words,
     .usual = "info",
     .help = "The least that is logged: trace, debug, info, warning or error. trace logs each "
             "decision about each lock"},
    {.name = "trace-lock",
     .argument = "NAME",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(trace_lock),
     .must = "the name of a lock",
     .help = "With --log-level trace: log the decisions about this lock alone"},

    {.name = "audit-log",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(audit_log),
     .must = "a file, or - for stderr",
     .help = "Write a line of JSON for each grant, release, loss and refused key: who, which lock, "
             "which token. - is stderr. SIGHUP opens the file anew. Without this setting there is "
             "none"},

    {.name = "hand-over",
     .argument = "PATH",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(hand_over),
     .must = "the path of a socket",
     .help = "Take the place of the pawld that was started with the same PATH, if there is one: "
             "its listening sockets are passed on, and no connection is refused. A socket is made "
             "at PATH, for this user alone. Start the new pawld while the old one runs"},
    {.name = "drain",
     .argument = "TIME",
     .kind = PAWLD_DURATION,
     .commands = PAWLD_SERVE,
     AT(ends.drain_ms),
     FROM_TO(0, SERVER_ENDS_MAX_MS),
     .usual = "10s",
     .help = "How long calls under way are waited for, once pawld is told to end: 10s, 500ms or "
             "1m. It grants nothing more meanwhile, and ends as soon as no call is under way"},
    {.name = "drain-lead",
     .argument = "TIME",
     .kind = PAWLD_DURATION,
     .commands = PAWLD_SERVE,
     AT(ends.lead_ms),
     FROM_TO(0, SERVER_ENDS_MAX_MS),
     .usual = "0ms",
     .help = "How long pawld serves all calls before that, while /readyz says no: a load balancer "
             "needs so long to see it, and then sends no call that would be refused"},
};

const size_t pawld_settings_count = sizeof(pawld_settings) / sizeof(pawld_settings[0]);

const struct pawld_setting *pawld_setting_find(const char *name, enum pawld_command command)
{
    for (size_t i = 0; i < pawld_settings_count; i++)
        if ((pawld_settings[i].commands & command) && strcmp(pawld_settings[i].name, name) == 0)
            return &pawld_settings[i];
    return NULL;
}

/* Of a character that the name of a setting may have. */
static char of_variable(char character)
{
    static const char of_setting[] = "abcdefghijklmnopqrstuvwxyz-";
    static const char of_variables[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *at = strchr(of_setting, character);
    assert(at != NULL && *at != '\0');
    return of_variables[at - of_setting];
}

void pawld_setting_variable(const struct pawld_setting *setting,
                            char ret_variable[static PAWLD_VARIABLE_MAX])
{
    static const char prefix[] = "PAWL_";
    const size_t len = strlen(setting->name);
    assert(sizeof(prefix) + len <= PAWLD_VARIABLE_MAX);
    memcpy(ret_variable, prefix, sizeof(prefix));
    for (size_t i = 0; i < len; i++)
        ret_variable[sizeof(prefix) - 1 + i] = of_variable(setting->name[i]);
    ret_variable[sizeof(prefix) - 1 + len] = '\0';
}

/* ---- the sample ------------------------------------------------------------------------------ */

enum {
    SAMPLE_WIDTH = 98,
};

/* As lines of a comment. */
static void print_comment(const char *text)
{
    while (*text) {
        size_t len = strlen(text);
        if (len > SAMPLE_WIDTH) {
            len = SAMPLE_WIDTH;
            while (len > 0 && text[len] != ' ')
                len--;
        }
        printf("# %.*s\n", (int)len, text);
        text += len + (text[len] == ' ');
    }
}

void pawld_settings_sample(void)
{
    print_comment(
        "The configuration of pawld: pawld --config FILE. A line is: name = value. PAWL_NAME "
        "of the environment and --name of the command line replace what stands here. Where "
        "a setting may be given several times, write it once a line. A line has at most "
        "198 bytes; what follows \" ;\" is a comment. pawld --check --config FILE tells "
        "mistakes, and what is in force.");
    for (size_t i = 0; i < pawld_settings_count; i++) {
        const struct pawld_setting *setting = &pawld_settings[i];
        if (!(setting->commands & PAWLD_SERVE) || setting->only_option)
            continue;
        printf("\n");
        print_comment(setting->help);
        printf("#%s = %s\n", setting->name, setting->usual ? setting->usual : "");
    }
}
