/* The client of Pawl: acquire, extend and release locks of a pawld over HTTP, and read fencing
 * tokens. Link with -lpawl.
 *
 *     pawl_client *client = NULL;
 *     pawl_lock *lock = NULL;
 *     if (pawl_client_new(NULL, &client) < 0)
 *         ...
 *     if (pawl_acquire(client, &(struct pawl_request){.names = &name, .name_count = 1}, &lock) < 0)
 *         errx(1, "%s", pawl_client_reason(client));
 *     write_guarded(pawl_lock_token(lock, 0), ...);
 *     (void)pawl_release(client, lock, NULL);
 *     pawl_lock_free(lock);
 *     pawl_client_free(client);
 *
 * Times are milliseconds. A deadline is a time of CLOCK_BOOTTIME, which continues while the machine
 * is suspended. Compare a deadline with pawl_now_ms(). The deadline of a lock is the time at which
 * the client sent the request, plus served_ms and validity_ms of the answer.
 *
 * A holder that pauses past its deadline still believes that it holds the lock. No client can
 * prevent this. So send the token with each write, and check the token at the data.
 *
 * Threads: a client and a lock each serve one thread at a time. A function that any thread may call
 * says so.
 *
 * Forks: a client, a lock and a renewer belong to the process that created them. A child of fork()
 * holds no lock, pawl_lock_left_ms() is 0, and each function that can fail returns PAWL_EFORKED.
 * The child sends nothing. If the child frees or stops an object, the object of the parent does not
 * change. Create a new client in the child. daemon() forks, too, so acquire locks after the call of
 * daemon(). To pass a lock to a child, pass its names and its lock id to pawl_lock_resume() in the
 * child. The parent must not use the lock after that.
 *
 * Errors: functions return a negative pawl_error. The outputs do not change, and
 * pawl_client_reason() returns a sentence. */
#ifndef PAWL_H
#define PAWL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PAWL_CHECKED __attribute__((warn_unused_result))
#define PAWL_PUBLIC  __attribute__((visibility("default")))
#else
#define PAWL_CHECKED
#define PAWL_PUBLIC
#endif

#define PAWL_SERVER_DEFAULT "http://127.0.0.1:7380"
#define PAWL_SOCKET_DEFAULT "unix:/run/pawl/pawld.sock"

enum {
    PAWL_SERVERS_MAX = 8,
    PAWL_NAMES_MAX = 64,  /* that one lock can have */
    PAWL_NAME_MAX = 255,  /* bytes of a name */
    PAWL_OWNER_MAX = 128, /* bytes of a label */
    PAWL_LOCK_ID_MAX = 64,
    PAWL_PERMITS_MAX = 64, /* of a semaphore */
    PAWL_KEY_MAX = 127,    /* bytes of a key */
    PAWL_HOLDER_MAX = 255, /* bytes of the label and the key of a holder; the rest is cut */
};

/* The wait of an acquisition or a watch, if it is not a number of milliseconds. */
enum {
    PAWL_WAIT = 0,     /* forever. The default, as in all clients. -1 is the same */
    PAWL_NO_WAIT = -2, /* does not wait */
};

enum pawl_error {
    PAWL_EINVAL = -1, /* an argument is wrong, or the server says that one is: do not repeat */
    PAWL_ENOMEM = -2, /* memory is short */
    PAWL_EHELD = -3,  /* another caller held the lock until the wait ended: try later */
    PAWL_ELOST = -4,  /* the lock is no longer held, or an operator broke it: stop the work */
    PAWL_EUNAVAILABLE = -5, /* no server answered, or none has a majority: try later. A held
                             * lock stays held until its deadline */
    PAWL_EREFUSED = -6,     /* refused, and retrying will not help: read the reason */
    PAWL_EEXHAUSTED = -7,   /* the extension limit is reached: acquire again */
    PAWL_EPROTOCOL = -8,    /* the answer did not come from a pawld: check the address */
    PAWL_ECANCELLED = -9,   /* pawl_cancel() ended the wait */
    PAWL_EFORKED = -10,     /* the client or the lock belongs to the parent process of this
                             * fork: create a new client in this process */
};

/* A result of pawl_extend() that is not an error: the lock was acquired again. The tokens may be
 * higher, and another caller may have held the lock in between. Claim with the new tokens, and
 * read your data again. */
enum {
    PAWL_NEW_GRANT = 1
};

/* The name of an error, such as "held". A static string. */
PAWL_PUBLIC const char *pawl_error_name(int error);

/* The time now on the clock of all deadlines. Any thread. */
PAWL_PUBLIC int64_t pawl_now_ms(void);

/* The default server of a client, without PAWL_SERVER: PAWL_SOCKET_DEFAULT if this process may
 * connect to that socket, else PAWL_SERVER_DEFAULT. A static string. Any thread. */
PAWL_PUBLIC const char *pawl_default_server(void);

/* ---- client ---------------------------------------------------------------------------------- */

typedef struct pawl_client pawl_client;

struct pawl_options {
    const char *const *servers; /* such as "http://127.0.0.1:7380" or "unix:/run/pawl/pawld.sock",
                                 * the socket of pawld --listen. If a server does not answer, the
                                 * client tries the next server. The client uses no proxy. Copied */
    size_t server_count;        /* 0: the servers in PAWL_SERVER, separated by spaces, or
                                 * pawl_default_server() */
    int64_t call_timeout_ms;    /* maximum time of a call without its wait; 0: 5000 */
    const char *key; /* "pawl_...", if the servers require keys. NULL: the key in PAWL_KEY,
                      * or no key. Copied, and sent with each call: use https:// for
                      * servers on other machines */

    /* For https://. Files in PEM; copied. NULL: the file that PAWL_CA_FILE, PAWL_CERT or
     * PAWL_CERT_KEY names, if that is set */
    const char *ca_file;  /* CA certificates to trust; default: those of the system */
    const char *cert;     /* client certificate to present; default: none */
    const char *cert_key; /* key of @cert; default: @cert has the key */
};

/* @options NULL: all defaults. PAWL_EINVAL (pawl_options_check() has the reason), PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_client_new(const struct pawl_options *options,
                                             pawl_client **ret_client);

/* Reports whether pawl_client_new() accepts @options, together with the environment. After
 * PAWL_EINVAL, @ret_reason has a sentence about the wrong option, with at most @size bytes.
 * PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_options_check(const struct pawl_options *options,
                                                char *ret_reason, size_t size);

/* NULL is allowed. */
PAWL_PUBLIC void pawl_client_free(pawl_client *client);

/* The failure of the last call as a sentence; "" if it succeeded. Valid until the next call. */
PAWL_PUBLIC const char *pawl_client_reason(const pawl_client *client);

/* The problem (RFC 9457) of the last call, as JSON. Its "type" is, for example, "urn:pawl:held".
 * "" if the server returned no problem. Valid until the next call. */
PAWL_PUBLIC const char *pawl_client_problem(const pawl_client *client);

/* ---- locks ----------------------------------------------------------------------------------- */

typedef struct pawl_lock pawl_lock;

/* The holder that blocks an acquisition. */
struct pawl_holder {
    const char *name;       /* name of the lock; NULL: unknown */
    const char *owner;      /* label of the holder; NULL: unknown */
    int64_t retry_after_ms; /* time until the lease ends, if not extended; -1: unknown */
};

/* The holders that a lock admits at a time. */
enum pawl_mode {
    PAWL_EXCLUSIVE, /* one; of a semaphore, as many as it has permits */
    PAWL_READ,      /* readers */
    PAWL_WRITE,     /* one writer, and no reader */
};

struct pawl_request {
    const char *const *names; /* several are acquired all or none */
    size_t name_count;        /* 1 to PAWL_NAMES_MAX */
    int64_t ttl_ms;           /* 0: the fleet's default */
    int64_t wait_ms;          /* maximum wait for a held lock. PAWL_WAIT (0, so the default):
                               * forever. PAWL_NO_WAIT: does not wait */
    const char *owner;        /* a label that others see; NULL: none */

    /* Called at most once, before the wait begins. NULL: not called. @holder is valid during the
     * call. */
    void (*waiting)(void *user, const struct pawl_holder *holder);
    void *user;

    enum pawl_mode
        mode;         /* PAWL_READ, PAWL_WRITE: @names[0] is a read-write lock. A reader's lock has
                       * the name of its seat, a writer's has the name itself and one token */
    int64_t permits;  /* 0: a lock. 1 to PAWL_PERMITS_MAX: one seat of the semaphore @names[0] with
                       * this number of seats. The lock has the name of the seat, "orders#2" */
    int64_t delay_ms; /* time for which the name stays closed after the lease expires; 0: none. A
                       * release opens the name at once. The sum of @ttl_ms and @delay_ms is at
                       * most the fleet's longest lease */
};

/* Acquires. If an answer is lost, the call repeats under the same lock id, so that no unknown lock
 * is left behind. If no server answers, it fails after the call timeout. An answer of a gateway
 * (502, 503, 504, 408, HTML) or a connection that a gateway closes does not end a wait.
 * PAWL_EREFUSED: an unlimited wait for a lock that @client itself holds. PAWL_EHELD,
 * PAWL_EUNAVAILABLE, PAWL_EREFUSED, PAWL_EINVAL, PAWL_ENOMEM, PAWL_EPROTOCOL, PAWL_ECANCELLED. The
 * lock is the caller's: pawl_lock_free(). */
PAWL_PUBLIC PAWL_CHECKED int pawl_acquire(pawl_client *client, const struct pawl_request *request,
                                          pawl_lock **ret_lock);

/* Cancels the current pawl_acquire(), pawl_watch() or pawl_follow() of @client, if there is one.
 * The cancelled call releases what it may have acquired, and returns PAWL_ECANCELLED. It returns
 * within a second if servers answer, and at once if a signal interrupts its thread. An
 * acquisition that succeeds at the same moment remains. Any thread. */
PAWL_PUBLIC void pawl_cancel(pawl_client *client);

/* A lock that was acquired earlier, for example by another process. */
struct pawl_grant {
    const char *const *names;
    size_t name_count;
    const char *lock_id;
    const int64_t *tokens; /* one for each name; NULL: none, which is enough for a release */
    int64_t ttl_ms;        /* 0: the fleet's default */
};

/* Creates a lock from @grant (copied), to extend or release the lock. The function sends no
 * request. Until the first extension, the deadline is unknown and counts as passed. PAWL_EINVAL,
 * PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_lock_resume(pawl_client *client, const struct pawl_grant *grant,
                                              pawl_lock **ret_lock);

/* Extends all names of @lock to @ttl_ms from now (0: the lease of the acquisition). The call
 * takes at most the call timeout, and ends at the deadline. PAWL_ELOST: the lock is lost, or its
 * deadline has passed. PAWL_EUNAVAILABLE, PAWL_EEXHAUSTED: the old deadline still applies. If
 * one of several names became a new grant before PAWL_EUNAVAILABLE, the next successful call
 * reports the new grant. 0, PAWL_NEW_GRANT, PAWL_EREFUSED, PAWL_EPROTOCOL. */
PAWL_PUBLIC PAWL_CHECKED int pawl_extend(pawl_client *client, pawl_lock *lock, int64_t ttl_ms);

/* Releases all names of @lock. The lock is no longer held from the start of the call.
 * *@ret_released (or NULL): the lock was held until now. PAWL_EUNAVAILABLE: the result is
 * unknown, and the lease ends by itself. It is safe to repeat the call. The call takes at most
 * the call timeout, or half a second after the deadline. */
PAWL_PUBLIC int pawl_release(pawl_client *client, pawl_lock *lock, bool *ret_released);

/* The same as pawl_release(), and all names stay closed to other callers for @keep_ms, at most
 * for the rest of the lease. So a short job keeps its time slot. 0: as pawl_release(). Repeat
 * the call only after a failure. After a success, only an operator can open the names earlier.
 * PAWL_EINVAL: @keep_ms is below 0, or longer than any lease. */
PAWL_PUBLIC int pawl_release_and_keep(pawl_client *client, pawl_lock *lock, int64_t keep_ms,
                                      bool *ret_released);

/* Frees the memory and releases nothing. NULL is allowed. */
PAWL_PUBLIC void pawl_lock_free(pawl_lock *lock);

/* Any thread may call these functions, even while another thread extends @lock. */
PAWL_PUBLIC int64_t pawl_lock_token(const pawl_lock *lock,
                                    size_t index);                /* the token of that name */
PAWL_PUBLIC int64_t pawl_lock_deadline_ms(const pawl_lock *lock); /* the earliest of its names */
PAWL_PUBLIC int64_t pawl_lock_left_ms(const pawl_lock *lock); /* time to the deadline; 0: passed,
                                                               * or the lock is lost */
PAWL_PUBLIC int64_t pawl_lock_ttl_ms(const pawl_lock *lock);
PAWL_PUBLIC size_t pawl_lock_count(const pawl_lock *lock);
PAWL_PUBLIC const char *pawl_lock_name(const pawl_lock *lock, size_t index);
PAWL_PUBLIC const char *pawl_lock_id(const pawl_lock *lock);
PAWL_PUBLIC int pawl_lock_seat(const pawl_lock *lock); /* the index; -1: no seat */

/* ---- watching -------------------------------------------------------------------------------- */

/* The state of a lock. All members are zero before the first answer. */
struct pawl_state {
    bool known;
    bool held;
    int64_t token;                   /* token of the grant that holds the lock; 0: none */
    char owner[PAWL_HOLDER_MAX + 1]; /* the holder's label; "": none */
};

/* A result of pawl_watch() that is not an error: the wait ended, and the state did not change. */
enum {
    PAWL_UNCHANGED = 2
};

/* Waits until the state of the lock @name differs from *@state, and writes the new state to
 * *@state. The call acquires no lock. With an unknown state, the call returns at once. Begin with
 * an unknown state, and pass the state on to each further call:
 *
 *     struct pawl_state state = {.known = false};
 *     while ((error = pawl_watch(client, "leader", PAWL_WAIT, &state)) == 0)
 *         follow(state.held ? state.token : 0);
 *
 * If several changes come at once, the call reports only the last change. If the lock was
 * released and acquired again, the token is higher. The reported holder may have ended already,
 * so only a resource that checks tokens is certain. After the first answer, failures of servers
 * and gateways do not end a wait. @wait_ms: PAWL_WAIT, PAWL_NO_WAIT or milliseconds. 0,
 * PAWL_UNCHANGED, PAWL_EUNAVAILABLE (no server answers; *@state does not change, and you can
 * repeat the call), PAWL_EREFUSED, PAWL_EINVAL, PAWL_ENOMEM, PAWL_EPROTOCOL, PAWL_ECANCELLED. */
PAWL_PUBLIC PAWL_CHECKED int pawl_watch(pawl_client *client, const char *name, int64_t wait_ms,
                                        struct pawl_state *state);

/* ---- counters, and what a server shows ------------------------------------------------------- */

/* Takes the next @count values of the counter @name. *@ret_last is the last of these values, and
 * the other values are directly below it. If an answer is lost, the call repeats, and the values
 * of the lost answer remain unused. PAWL_EUNAVAILABLE, PAWL_EREFUSED, PAWL_EINVAL,
 * PAWL_EPROTOCOL, PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_counter_next(pawl_client *client, const char *name, int64_t count,
                                               int64_t *ret_last);

/* Sends GET with @path followed by @name, percent-encoded, for example "/v1/locks/" and
 * "orders/42". @name NULL: only @path. *@ret_json is the body of the answer, which the caller
 * frees. PAWL_EREFUSED (for example, an unknown path), PAWL_EUNAVAILABLE, PAWL_EINVAL,
 * PAWL_EPROTOCOL, PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_get(pawl_client *client, const char *path, const char *name,
                                      char **ret_json);

/* ---- events ---------------------------------------------------------------------------------- */

/* An event of GET /v1/events. Valid during the call. */
struct pawl_event {
    const char *name; /* "granted", say */
    const char *id;   /* to continue after this event */
    const char *json; /* its members */
};

/* Follows the events of one server: of the locks whose names begin with @prefix (NULL or "": all),
 * and of its masters. Calls @happened with NULL when the stream has begun, and then with each
 * event, until the stream ends. If the server still has the events after the id @after, these
 * events come first (NULL or "": none). During this call, no other call of @client is allowed.
 *
 * 0: the server ended the stream, because it stops or reloads its keys: call pawl_follow()
 * again. PAWL_EUNAVAILABLE (call again after a pause; the next server is then used),
 * PAWL_EREFUSED, PAWL_EINVAL, PAWL_ENOMEM, PAWL_EPROTOCOL, PAWL_ECANCELLED. */
PAWL_PUBLIC PAWL_CHECKED int
pawl_follow(pawl_client *client, const char *prefix, const char *after,
            void (*happened)(void *user, const struct pawl_event *event), void *user);

/* ---- for operators --------------------------------------------------------------------------- */

/* Breaks the grant of @name with @token, for any holder, and no other grant. The next extension
 * of the holder fails. The next grant has a higher token. *@ret_broken (or NULL): the grant held
 * the lock until now. PAWL_EREFUSED (another grant has the lock), PAWL_EUNAVAILABLE (the result
 * is unknown; repeat the call), PAWL_EINVAL, PAWL_EPROTOCOL. */
PAWL_PUBLIC PAWL_CHECKED int pawl_break(pawl_client *client, const char *name, int64_t token,
                                        bool *ret_broken);

/* ---- renewal --------------------------------------------------------------------------------- */

typedef struct pawl_renewer pawl_renewer;

/* Extends @lock in a separate thread, whenever a third of the lease has passed. The thread ends
 * when the lock is lost or cannot be extended again. Until pawl_renewer_stop(), the renewer uses
 * @client and @lock: you may only read the deadline and the tokens of @lock. PAWL_ENOMEM (also:
 * too few threads or descriptors). */
PAWL_PUBLIC PAWL_CHECKED int pawl_renewer_start(pawl_client *client, pawl_lock *lock,
                                                pawl_renewer **ret_renewer);

/* A descriptor for poll(), which becomes readable after each extension and at the end. Do not
 * read or close the descriptor. In a child of a fork, this is another descriptor, which is
 * readable. */
PAWL_PUBLIC int pawl_renewer_fd(const pawl_renewer *renewer);

/* Returns the state of the renewer, and makes the descriptor unreadable. 0: the renewer extends
 * the lock, and the deadline of the lock applies. Any other value: the renewer has ended, and
 * the holder must stop before the deadline: PAWL_NEW_GRANT, PAWL_ELOST, PAWL_EEXHAUSTED,
 * PAWL_EREFUSED, PAWL_EPROTOCOL, PAWL_ENOMEM. PAWL_EUNAVAILABLE: the deadline passed without an
 * answer. PAWL_EFORKED. */
PAWL_PUBLIC PAWL_CHECKED int pawl_renewer_look(pawl_renewer *renewer);

/* Waits at most about two seconds for an extension in progress, and frees the renewer. NULL is
 * allowed. */
PAWL_PUBLIC void pawl_renewer_stop(pawl_renewer *renewer);

#ifdef __cplusplus
}
#endif

#endif
