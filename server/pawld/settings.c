#include "server/pawld/settings.h"

#include "fence/bootstrap/bootstrap.h"
#include "server/loop/driver.h"
#include "server/loop/worker.h"
#include "server/pawld/password.h"
#include "storage/redis/master.h"

#include <assert.h>
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
     .help = "HTTP address to listen on: HOST:PORT, :PORT for all addresses of the machine, or "
             "unix:/PATH. HOST is an IP address, or a name that pawld resolves once, at its start. "
             "Port 0 picks a free port. Can be given up to 8 times. With --tls-cert, every address "
             "uses TLS, except unix: addresses and addresses written with http://. If systemd sets "
             "RUNTIME_DIRECTORY, the default includes unix:$RUNTIME_DIRECTORY/pawld.sock"},
    {.name = "metrics-listen",
     .argument = "ADDRESS",
     .kind = PAWLD_TEXTS,
     .commands = PAWLD_SERVE,
     COUNTED(http.listens.metrics, SERVER_LISTENS_MAX),
     .help = "Address to listen on for /metrics, /livez and /readyz only. Can be given up to 8 "
             "times. The --listen addresses serve these paths, too"},
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
     .help = "A name, without port, that pawld accepts in the Host header. Can be given up to 16 "
             "times. pawld always accepts IP addresses and localhost, and refuses other names"},
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
     .help = "Key file with one line for each key of a client, as printed by pawl key new. A "
             "restart of pawld resets the counts for the limits rate= and held= of each key. "
             "Without this setting, every caller that reaches the service has all rights"},
    {.name = "open",
     .kind = PAWLD_FLAG,
     .commands = PAWLD_SERVE,
     AT(http.open),
     .usual = "no",
     .help = "Without --keys: also listen on addresses that other machines can reach. "
             "Every caller then has all rights"},

    {.name = "data",
     .argument = "FOLDER",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(data),
     .must = "a folder",
     .help = "Serve from a file in this folder, without Redis. pawld creates the folder. Without "
             "--master, the default is $STATE_DIRECTORY. If that variable is not set, the default "
             "is /var/lib/pawl for root and pawl-data for other users"},
    {.name = "data",
     .argument = "FOLDER",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_INIT,
     AT(data),
     .must = "a folder",
     .help = "Instead of --master: keep the fleet in one file, in this folder"},
    {.name = "data",
     .argument = "FOLDER",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_MOVE,
     .only_option = true,
     AT(data),
     .must = "a folder",
     .help = "Folder of the fleet to move. First stop every pawld that serves from this folder"},
    {.name = "from",
     .argument = "URL",
     .kind = PAWLD_URLS,
     .commands = PAWLD_MOVE,
     .only_option = true,
     COUNTED(from, FENCE_MASTERS_MAX),
     .help = "A master of the fleet to move, as in --master. Give the option once for each "
             "master, in the order of the fleet"},
    {.name = "master",
     .argument = "URL",
     .kind = PAWLD_URLS,
     .commands = PAWLD_EVERY,
     COUNTED(masters, FENCE_MASTERS_MAX),
     .help = "A master: redis://[user:password@]host:port, rediss:// for TLS, or unix:///path. "
             "Give the option once for each master, in the same order for every pawld and for "
             "pawld init"},
    {.name = "master-password-file",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_EVERY,
     AT(password_file),
     .help = "The first line of FILE is the password of every master without a password in its "
             "URL. SIGHUP reloads the file. Default: the environment "
             "variable " PAWLD_PASSWORD_VARIABLE},
    {.name = "master-ca",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_EVERY,
     AT(tls_files.ca),
     .help = "For rediss://: CA certificates to trust, in PEM (default: the CA store of "
             "the system)"},
    {.name = "master-cert",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_EVERY,
     AT(tls_files.cert),
     .help = "For rediss://: client certificate to present to masters, in PEM, with "
             "--master-key"},
    {.name = "master-key",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_EVERY,
     AT(tls_files.key),
     .help = "The private key of --master-cert, in PEM"},

    {.name = "new",
     .kind = PAWLD_FLAG,
     .commands = PAWLD_INIT,
     .only_option = true,
     AT(is_new),
     .help = "For a new fleet, which has never issued a token: tokens start at 1"},
    {.name = "token-floor",
     .argument = "T",
     .kind = PAWLD_BIG,
     .commands = PAWLD_INIT,
     .only_option = true,
     AT(token_floor),
     FROM_TO(0, FENCE_FLOOR_SEEN_MAX),
     .help = "If a majority of the masters lost their data: tokens continue above T, the highest "
             "token that any guard has seen"},
    {.name = "token-floor",
     .argument = "T",
     .kind = PAWLD_BIG,
     .commands = PAWLD_MOVE,
     .only_option = true,
     AT(token_floor),
     FROM_TO(0, FENCE_FLOOR_SEEN_MAX),
     .help = "With --from, if too many masters lost their data: T is the highest token "
             "that any guard has seen"},
    {.name = "max-ttl-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(ttl_max_ms),
     FROM_TO(FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS),
     .usual = "300000",
     .help = "With --data, for a new folder: the longest lease of the fleet"},
    {.name = "max-ttl-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_INIT,
     AT(ttl_max_ms),
     FROM_TO(FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS),
     .help = "The longest lease of the fleet (default 300000). With --token-floor: if no master "
             "still stores the longest lease of the fleet, give the previous value"},
    {.name = "max-ttl-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_MOVE,
     AT(ttl_max_ms),
     FROM_TO(FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS),
     .help = "The longest lease of the new fleet. With --data: at least the longest lease of the "
             "file (default: unchanged)"},
    {.name = "max-extensions",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(extensions_max),
     FROM_TO(1, FENCE_EXTENSIONS_CEILING),
     .usual = "1000000",
     .help = "With --data, for a new folder: maximum number of extensions of a lock, 1 to "
             "1000000000"},
    {.name = "max-extensions",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_INIT,
     AT(extensions_max),
     FROM_TO(1, FENCE_EXTENSIONS_CEILING),
     .help = "Maximum number of extensions of a lock, 1 to 1000000000 (default 1000000). With "
             "--token-floor, the fleet keeps the previous value if a master still stores that "
             "value"},
    {.name = "readers",
     .argument = "K",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_INIT,
     AT(readers),
     FROM_TO(1, FENCE_READERS_MAX),
     .help = "Maximum number of readers that hold a read-write lock at the same time, 1 to 63 "
             "(default 32). With --token-floor, the fleet keeps the previous value if a master "
             "still stores that value"},
    {.name = "max-extensions",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_MOVE,
     AT(extensions_max),
     FROM_TO(1, FENCE_EXTENSIONS_CEILING),
     .help = "Maximum number of extensions of a lock in the new fleet, 1 to 1000000000 (default: "
             "unchanged)"},
    {.name = "max-counters",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(counters_max),
     FROM_TO(1, FENCE_COUNTERS_CEILING),
     .usual = "100000",
     .help = "Maximum number of named counters in the fleet, up to 10000000. At this limit, pawld "
             "answers 409 to a call with a new name. Give every pawld the same value"},

    {.name = "ask",
     .argument = "MASTERS",
     .kind = PAWLD_WORD,
     .commands = PAWLD_SERVE,
     AT(ask),
     .words = ask_words,
     .usual = "majority",
     .help = "Masters that a call asks first: 'majority' (the same majority for all names), "
             "'spread' (a majority that depends on the name), or 'all'. With 'majority' and "
             "'spread', a call asks other masters if one of the first is slow or silent"},
    {.name = "master-deadline-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(deadline_ms),
     FROM_TO(FENCE_MASTER_DEADLINE_MIN_US / 1000, FENCE_MASTER_DEADLINE_MAX_US / 1000),
     .help = "Maximum time to wait for the answer of a master, 5 to 5000. After this time, the "
             "master counts as silent. For masters in distant regions, set a value of several "
             "round trips. A call waits for a master for at most a tenth of the requested lease. "
             "The default is 50. With --data, the default is 2000, because pawld can ask no "
             "other master"},
    {.name = "probe-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(probe_ms),
     FROM_TO(STORAGE_PROBE_MIN_MS, STORAGE_PROBE_MAX_MS),
     .usual = "500",
     .help = "Time between two probes of a master, 10 to 10000. A master loses its vote after "
             "four unanswered probes and at least two seconds without an answer"},
    {.name = "no-module",
     .kind = PAWLD_FLAG,
     .commands = PAWLD_SERVE,
     AT(refuses_module),
     .usual = "no",
     .help = "Use only Lua scripts, even at masters that have the module pawl-master"},
    {.name = "workers",
     .argument = "K",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(workers),
     FROM_TO(1, SERVER_WORKERS_MAX),
     .help = "Number of event loops that serve clients, 1 to 64. Each event loop has its own "
             "connections to the masters (default: one event loop for every two cores)"},

    {.name = "max-waiters",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(waiters_max),
     FROM_TO(0, SERVER_CALLS),
     .usual = "12288",
     .help = "Maximum number of calls that wait for locks. At this limit, pawld answers 429 to "
             "calls that would have to wait. Each worker has an equal share, rounded up"},
    {.name = "max-connections",
     .argument = "N",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(connections_max),
     FROM_TO(1, API_HTTP_CONNECTIONS_MAX),
     .usual = "16384",
     .help =
         "Maximum number of connected clients. Further clients wait to be accepted. If the limit "
         "of open files (ulimit -n) is too low for this number, pawld accepts fewer clients. Each "
         "worker has an equal share, rounded up"},
    {.name = "idle-timeout-s",
     .argument = "S",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(http.idle_s),
     FROM_TO(1, API_HTTP_IDLE_MAX_S),
     .usual = "75",
     .help = "Maximum time between two requests of a connection, 1 to 3600 seconds. A connection "
             "with a request that waits for a lock is not idle"},
    {.name = "head-timeout-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(http.head_ms),
     FROM_TO(API_HTTP_WAIT_MIN_MS, API_HTTP_WAIT_MAX_MS),
     .usual = "10000",
     .help = "Maximum time for the request line and headers to arrive, 100 to 3600000"},
    {.name = "body-timeout-ms",
     .argument = "MS",
     .kind = PAWLD_NUMBER,
     .commands = PAWLD_SERVE,
     AT(http.body_ms),
     FROM_TO(API_HTTP_WAIT_MIN_MS, API_HTTP_WAIT_MAX_MS),
     .usual = "10000",
     .help = "Maximum time for the request body to arrive, 100 to 3600000"},

    {.name = "log-form",
     .argument = "FORM",
     .kind = PAWLD_WORD,
     .commands = PAWLD_SERVE,
     AT(log_form),
     .words = form_words,
     .usual = "plain",
     .help = "Format of log lines on stderr: 'plain' or 'json'. A JSON line is an object with the "
             "members time, level, program and message. A line about a worker or a master also has "
             "the member worker or master"},
    {.name = "log-level",
     .argument = "LEVEL",
     .kind = PAWLD_WORD,
     .commands = PAWLD_SERVE,
     AT(log_level),
     .words = level_words,
     .usual = "info",
     .help = "Lowest level to log: trace, debug, info, warning or error. The level 'trace' logs "
             "each decision about each lock"},
    {.name = "trace-lock",
     .argument = "NAME",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(trace_lock),
     .must = "the name of a lock",
     .help = "With --log-level trace: log only the decisions about this lock"},

    {.name = "audit-log",
     .argument = "FILE",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(audit_log),
     .must = "a file, or - for stderr",
     .help =
         "Write one line of JSON for each grant, release, loss and refused key, with the caller, "
         "the lock and the token. FILE can be - for stderr. SIGHUP reopens the file (default: no "
         "audit log)"},

    {.name = "hand-over",
     .argument = "PATH",
     .kind = PAWLD_TEXT,
     .commands = PAWLD_SERVE,
     AT(hand_over),
     .must = "the path of a socket",
     .help = "Replace the running pawld whose --hand-over has the same PATH. Start the new pawld "
             "while the old pawld runs. The old pawld passes its listening sockets to the new "
             "pawld, so that no connection is refused. pawld creates a socket at PATH, which only "
             "this user can access"},
    {.name = "drain",
     .argument = "TIME",
     .kind = PAWLD_DURATION,
     .commands = PAWLD_SERVE,
     AT(ends.drain_ms),
     FROM_TO(0, SERVER_ENDS_MAX_MS),
     .usual = "10s",
     .help = "Maximum time to finish calls in progress when pawld stops, such as 10s, 500ms or 1m. "
             "During this time, pawld grants no lock, and exits as soon as no call is in progress"},
    {.name = "drain-lead",
     .argument = "TIME",
     .kind = PAWLD_DURATION,
     .commands = PAWLD_SERVE,
     AT(ends.lead_ms),
     FROM_TO(0, SERVER_ENDS_MAX_MS),
     .usual = "0ms",
     .help = "Time before the drain begins, when pawld stops. During this time, /readyz returns "
             "503, so that a load balancer stops sending calls. pawld still serves all calls"},
};

const size_t pawld_settings_count = sizeof(pawld_settings) / sizeof(pawld_settings[0]);

const struct pawld_setting *pawld_setting_find(const char *name, enum pawld_command command)
{
    for (size_t i = 0; i < pawld_settings_count; i++)
        if ((pawld_settings[i].commands & command) && strcmp(pawld_settings[i].name, name) == 0)
            return &pawld_settings[i];
    return NULL;
}

/* Returns a character of the name of a setting, as it is in the variable. */
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
