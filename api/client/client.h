/* Shared by the files of the client: one HTTP call to one of the servers, its answer, and the lock
 * that other threads read while it is extended. */
#ifndef API_CLIENT_CLIENT_H
#define API_CLIENT_CLIENT_H

#include "api/client/owner.h"
#include "api/client/pawl.h"
#include "api/client/plain.h"

#include <pthread.h>
#include <stdatomic.h>

#include <curl/curl.h>
#include <jansson.h>

enum {
    CLIENT_URL_MAX = 256, /* bytes of a server's URL, terminated */
    CLIENT_REASON_MAX = 1024,
    CLIENT_PROBLEM_MAX = 4096, /* bytes of a problem, terminated; pawld sends no longer one */
    CLIENT_FILE_MAX = 4096,    /* bytes of a file's path, terminated */
    CLIENT_PATH_MAX = 4096,
    CLIENT_KEEP_MAX_MS = 24 * 3600 * 1000, /* as long as any lease */
    CLIENT_TYPE_MAX = 48,                  /* bytes of a problem's type, without urn:pawl: */
    CLIENT_ANSWER_MAX = 4 * 1 << 20,       /* bytes of a body; a page of a listing is below 1 MB */
    CLIENT_PAUSE_LEAST_MS = 50,            /* between two attempts, doubled each time */
    CLIENT_PAUSE_MOST_MS = 1000,
    CLIENT_CUT_LEAST_MS = 500, /* a request that waited so long reached a pawld, or a gateway */
    CLIENT_LATE_MS = 500,      /* timeout to release a lock whose validity has ended */
    CLIENT_TTL_MOST_MS = 24 * 3600 * 1000, /* no fleet allows a longer lease */
};

#define CLIENT_TOKEN_MAX ((INT64_C(1) << 53) - 1) /* a pawld gives no higher one */

/* For https://; "": none. */
struct client_tls {
    char ca_file[CLIENT_FILE_MAX];
    char cert[CLIENT_FILE_MAX];
    char cert_key[CLIENT_FILE_MAX];
};

struct pawl_client {
    struct client_owner owner;
    CURL *curl;
    struct client_held *held; /* NULL: pawl_options_check() made the client */
    struct client_tls tls;
    char server[PAWL_SERVERS_MAX]
               [CLIENT_URL_MAX]; /* a URL without a slash at the end, or unix:/PATH */
    size_t server_count;
    size_t current; /* the one to ask next */
    bool reached;   /* the last request may have reached a server */
    bool cut;       /* the last request was sent, and the connection closed without an answer */
    bool bad_chain; /* no request was sent: the signer of the server's certificate is no CA */
    int64_t call_timeout_ms;
    char key[PAWL_KEY_MAX + 1]; /* "": none */
    _Atomic int64_t give_up_ms; /* when a call under way is ended; INT64_MAX: none */
    _Atomic bool cancelled;     /* the current wait was cancelled */
    bool asks_one_by_one;       /* a server did not know a request about several names */
    bool attempting;            /* an attempt of a wait is under way */
    char reason[CLIENT_REASON_MAX];
    bool is_named;                     /* @reason has the name of the lock */
    char problem[CLIENT_PROBLEM_MAX];  /* the problem behind @reason, as JSON; "": none */
    char curl_reason[CURL_ERROR_SIZE]; /* reason of the last failure; "": libcurl gave none */
};

/* ---- forks ----------------------------------------------------------------------------------- */

/* PAWL_EFORKED: @client belongs to another process, and the reason says so. */
PAWL_CHECKED int client_check_owner(pawl_client *client);

/* The same of @lock, too. */
PAWL_CHECKED int client_check_lock(pawl_client *client, const pawl_lock *lock);

/* ---- one call -------------------------------------------------------------------------------- */

/* Takes the bytes of an event stream as they arrive. Any other answer is read whole. */
struct client_sink {
    void (*begun)(void *user);                               /* the stream begins */
    bool (*take)(void *user, const char *bytes, size_t len); /* false: the stream ends here */
    void *user;
};

struct client_request {
    const char *method;
    const char *path;               /* encoded, with its query */
    char *body;                     /* JSON; NULL: none */
    const char *lock_id;            /* the header; NULL: none */
    int64_t token;                  /* the header; 0: none */
    int64_t if_match;               /* the same */
    int64_t waited_ms;              /* the same */
    int64_t timeout_ms;             /* for a stream: timeout of its connection */
    const struct client_sink *sink; /* NULL: the answer is taken whole */
};

struct client_answer {
    int64_t sent_ms; /* on the boot clock, before the request left */
    int64_t came_ms; /* the same, when all of it was there */
    long status;
    json_t *json;               /* the body; NULL: it is no JSON */
    char type[CLIENT_TYPE_MAX]; /* type of a problem, such as "held"; empty: no problem */
};

/* Sends a request to the current server once. PAWL_EUNAVAILABLE: there was no answer;
 * @client->reached tells whether the request may have arrived, and the next call goes to the next
 * server. PAWL_ENOMEM, PAWL_EPROTOCOL. On success the caller must call client_answer_free(). */
PAWL_CHECKED int client_ask(pawl_client *client, const struct client_request *request,
                            struct client_answer *ret_answer);
void client_answer_free(struct client_answer *answer);

#define CLIENT_BAD_CHAIN                                                                           \
    "is not trusted: a certificate that is not a CA signed its certificate (server/TLS.md)"

/* Has requests of @client refuse a server whose certificate was not signed by a CA. Then nothing is
 * sent to the server, and @client->bad_chain is set. */
void client_watch_chain(pawl_client *client);

/* Copies a problem to the client, and its sentence to the reason. Returns the error for the
 * problem. */
int client_problem(pawl_client *client, const struct client_answer *answer);

/* Reports whether @answer is not from a pawld: a gateway timed out, or another kind of server
 * answers. */
bool client_is_foreign(const struct client_answer *answer);

/* Reports whether a retry, or another server, may help against the error or the answer. */
bool client_may_repeat(int error);

/* Sets a reason without a problem. */
void client_say(pawl_client *client, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prefixes the reason with the operation that failed, such as "acquire", and the first of @count
 * names. */
void client_about(pawl_client *client, const char *verb, const char *name, size_t count);

/* The reason why the options of a client are wrong. @source begins the sentence: "", or a variable
 * such as "PAWL_KEY: ". Returns PAWL_EINVAL. */
int client_wrong(pawl_client *client, const char *source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies the servers of @options, or those of the environment. PAWL_EINVAL: the reason says which
 * URL is wrong. PAWL_ENOMEM. */
PAWL_CHECKED int client_take_servers(pawl_client *client, const struct pawl_options *options);

/* Returns the path of the socket if @server is "unix:/PATH". NULL: the server has a URL. */
const char *client_socket(const char *server);

/* Parses the body of an answer; its strings become plain. NULL: it is no JSON, or names of members
 * are not plain, or there is no memory. */
json_t *client_parse(const char *text, size_t len);

/* A member of an answer. -1 or NULL where it is missing. */
int64_t client_integer(const json_t *json, const char *name);
const char *client_text(const json_t *json, const char *name);

/* A token, or a value of a counter, that a pawld may give; 0: it is none. */
int64_t client_token(const json_t *json, const char *name);

/* Returns the lease of a grant for which @asked_ms were requested (0: the fleet's default); 0: the
 * lease makes no sense. */
int64_t client_ttl(const json_t *json, int64_t asked_ms);

/* Reports whether @answer is about @lock_id and the lock @name, as far as it names them: a gateway
 * can mix up its callers. */
bool client_is_about(const struct client_answer *answer, const char *lock_id, const char *name);

/* Reports whether @member of @json, a name, is missing, or @name. */
bool client_is_named(const json_t *json, const char *member, const char *name);

/* PAWL_EPROTOCOL: the answer is about another lock. */
int client_say_other(pawl_client *client);

/* The end of the validity of an answer about a lease of @ttl_ms; -1: it makes no sense. */
int64_t client_deadline(const struct client_answer *answer, int64_t ttl_ms);

/* Writes @prefix and @name, percent-encoded but for slashes. PAWL_EINVAL: the name is empty or too
 * long. */
PAWL_CHECKED int client_path(pawl_client *client, const char *prefix, const char *name,
                             char ret_path[static CLIENT_PATH_MAX]);

/* ---- attempts -------------------------------------------------------------------------------- */

/* How long one attempt may take, so that there is time for another server in a call's timeout. */
int64_t client_attempt_ms(const pawl_client *client);

/* How long to go on trying. */
struct client_patience {
    int64_t until_ms;
    int64_t pause_ms;
};

struct client_patience client_patience(int64_t until_ms);

/* Calls client_ask() until @until_ms, while there is no answer, or one against which a retry or
 * another server may help. Returns an error for an answer that is a problem. */
PAWL_CHECKED int client_ask_until(pawl_client *client, struct client_request *request,
                                  int64_t until_ms, struct client_answer *ret_answer);

/* Pauses before the next attempt. The pause is twice as long the next time. False: the time is
 * over.
 */
bool client_pause(struct client_patience *patience);

/* ---- several names --------------------------------------------------------------------------- */

/* The answer to a request about all names of a lock. */
struct client_group {
    struct client_answer answer;
    json_t *responses; /* borrowed from the answer; NULL: there is none */
};

/* Sends one request to extend @lock for @time_ms (0: the fleet's default), or to release it and
 * keep its names closed for @time_ms. Does nothing for a lock of one name. The caller must call
 * client_group_free() in any case. */
struct client_group client_group_ask(pawl_client *client, const pawl_lock *lock, bool extends,
                                     int64_t time_ms, int64_t until_ms);

/* Finds the answer about name @index, borrowed from @group. Returns false if the name did not
 * succeed: the caller sends a separate request for it. */
bool client_group_answer(const struct client_group *group, size_t index,
                         struct client_answer *ret_answer);
void client_group_free(struct client_group *group);

/* ---- waits ----------------------------------------------------------------------------------- */

/* A call that waits at a pawld: attempts, until one ends it or its time is over. If a server has
 * answered before, the call keeps trying until the end of the wait. If no server has ever answered,
 * it only tries for the call timeout. */
struct client_wait {
    int64_t until_ms; /* the end of the wait; INT64_MAX: none */
    int64_t first_ms; /* the end of the wait if no server answers */
    bool answered;    /* a pawld or its gateway answered: so it is worth waiting for */
    int64_t asked_ms; /* when the last attempt began */
    int64_t step_ms;  /* that it was to wait */
    struct client_patience patience;
};

/* @wait_ms: PAWL_WAIT, PAWL_NO_WAIT or milliseconds. */
struct client_wait client_wait(const pawl_client *client, int64_t wait_ms);

/* Prepares for another wait: the servers get a call timeout to answer. */
void client_wait_restart(const pawl_client *client, struct client_wait *wait);

/* PAWL_EINVAL: @wait_ms is no wait. */
PAWL_CHECKED int client_wait_check(pawl_client *client, int64_t wait_ms);

/* How long an attempt may wait now, @most_ms at the most. */
int64_t client_wait_left_ms(const struct client_wait *wait, int64_t most_ms);

/* client_ask() for an attempt that waits for @step_ms; pawl_cancel() ends it. */
PAWL_CHECKED int client_wait_ask(pawl_client *client, struct client_wait *wait,
                                 struct client_request *request, int64_t step_ms,
                                 struct client_answer *ret_answer);

/* client_problem() of the answer to an attempt. Also returns PAWL_EUNAVAILABLE if a gateway
 * answered instead of a pawld. */
PAWL_CHECKED int client_wait_problem(pawl_client *client, struct client_wait *wait,
                                     const struct client_answer *answer);

/* Pauses before the next attempt. Returns false if there is none. If a gateway cuts a wait at its
 * very end, one more attempt follows, to learn the state of the lock. */
bool client_wait_goes_on(struct client_wait *wait);

/* ---- the lock -------------------------------------------------------------------------------- */

struct client_name {
    char name[PAWL_NAME_MAX + 1];
    int64_t token;
    int64_t deadline_ms;
};

struct pawl_lock {
    struct client_owner owner;
    pthread_mutex_t mutex; /* guards tokens, deadlines and is_lost */
    char lock_id[PAWL_LOCK_ID_MAX + 1];
    int64_t ttl_ms;
    bool is_over;             /* released, broken or lost, whatever its deadline says */
    bool is_released;         /* a release was tried */
    bool is_lost;             /* an extension found that the lock is lost: it has no validity
                               * left */
    struct client_held *held; /* NULL: none has the lock */
    pawl_lock *next_held;
    bool new_grant; /* an extension got a new grant for one name and failed for another: not
                     * reported yet */
    size_t count;
    char written[PAWL_NAME_MAX + 1]; /* name of a writer, whose seats and gate are @names; "":
                                      * not a writer */
    struct client_name names[];
};

/* Reports whether @lock is a writer's. */
static inline bool client_lock_writes(const pawl_lock *lock)
{
    return lock->written[0] != '\0';
}

/* A lock of @count names without tokens, in the process of @client. NULL: memory is short. */
pawl_lock *client_lock_new(const pawl_client *client, const char *const *names, size_t count,
                           const char *lock_id, int64_t ttl_ms);

/* A token of 0 leaves the token as it is. */
void client_lock_set(pawl_lock *lock, size_t index, int64_t token, int64_t deadline_ms);

/* Nothing is left of the validity of @lock from now on. */
void client_lock_lose(pawl_lock *lock);

/* ---- locks that a client holds --------------------------------------------------------------- */

/* NULL: memory is short. client_held_leave() is the duty of the client. */
struct client_held *client_held_new(void);

/* Adds @lock to the locks of the client of @held, until @lock is freed. */
void client_held_add(struct client_held *held, pawl_lock *lock);

/* Removes @lock, which is freed, or the client (NULL). @held NULL is allowed. */
void client_held_leave(struct client_held *held, const pawl_lock *lock);

/* The locks with @lock_id, and those with @name, are no longer held. Each may be NULL. */
void client_held_forget(struct client_held *held, const char *lock_id, const char *name);

/* Reports whether the client holds the lock @name at @now_ms. */
bool client_held_has(struct client_held *held, const char *name, int64_t now_ms);

/* pawl_extend() with another bound. */
PAWL_CHECKED int client_extend(pawl_client *client, pawl_lock *lock, int64_t ttl_ms,
                               int64_t until_ms);

#endif
