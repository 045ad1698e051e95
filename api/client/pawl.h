/* The client of Pawl: acquire, extend and release locks of a pawld over HTTP, and read fencing
 * tokens. This header stands alone; link with -lpawl.
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
 * Times are milliseconds. A deadline is a time of CLOCK_BOOTTIME, which counts suspension; compare
 * it with pawl_now_ms(). The deadline of a lock is the time that the request was sent, plus the
 * answer's served_ms and validity_ms. It is safe with any delay of the network.
 *
 * A holder that is stopped past its deadline still believes that it holds the lock. No client can
 * prevent that. So give the token along with every write, and check it where the write lands.
 *
 * Threads: a client and a lock each serve one thread at a time. Exceptions are said at the
 * function.
 *
 * Forks: a client, a lock and a renewer belong to the process that made them. In a child of fork()
 * no lock is held, pawl_lock_left_ms() is 0, and each function that can fail returns PAWL_EFORKED.
 * The child sends nothing, and what it frees or stops stays as it is in the parent. Make a new
 * client in the child. daemon() forks, too: acquire after it. To hand a lock over to a child on
 * purpose, give its names and lock id to pawl_lock_resume() there. The parent must not use the lock
 * after that.
 *
 * Errors: functions return a negative pawl_error. Outputs are untouched then, and
 * pawl_client_reason() has a sentence. */
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
    PAWL_HOLDER_MAX = 255, /* bytes of a holder's label with the key behind it; the rest is cut */
};

/* How long an acquisition or a watch waits, beside a number of milliseconds. */
enum {
    PAWL_WAIT = 0,     /* without end. The default, as in all clients. -1 is the same */
    PAWL_NO_WAIT = -2, /* does not wait */
};

enum pawl_error {
    PAWL_EINVAL = -1, /* an argument is wrong, or the server says that one is: do not repeat */
    PAWL_ENOMEM = -2, /* memory is short */
    PAWL_EHELD = -3,  /* another one holds it, and did so until the wait ended: try later */
    PAWL_ELOST = -4,  /* the lock is no longer held, or an operator broke it: stop the work */
    PAWL_EUNAVAILABLE = -5, /* no server answered, or none has a majority: try later. A lock that
                             * is held stays so until its deadline */
    PAWL_EREFUSED = -6,     /* refused, and retrying will not help: read the reason */
    PAWL_EEXHAUSTED = -7,   /* the extension limit is reached: acquire again */
    PAWL_EPROTOCOL = -8,    /* the answer did not come from a pawld: check the address */
    PAWL_ECANCELLED = -9,   /* pawl_cancel() ended the wait */
    PAWL_EFORKED = -10, /* the client or the lock belongs to the process that this one was forked
                         * from: make a new client in this process */
};

/* A result of pawl_extend() that is no error: the lock was acquired again, and its tokens may be
 * higher. Somebody else may have held it in between. Take the new tokens, claim with them, and read
 * again what the work depends on. */
enum {
    PAWL_NEW_GRANT = 1
};

/* The name of an error, such as "held". Static. */
PAWL_PUBLIC const char *pawl_error_name(int error);

/* The time now on the clock of all deadlines. Any thread. */
PAWL_PUBLIC int64_t pawl_now_ms(void);

/* The server of a client that was given none, where PAWL_SERVER names none: PAWL_SOCKET_DEFAULT,
 * where this process may connect to that socket, or else PAWL_SERVER_DEFAULT. A static string. Any
 * thread. */
PAWL_PUBLIC const char *pawl_default_server(void);

/* ---- client ---------------------------------------------------------------------------------- */

typedef struct pawl_client pawl_client;

struct pawl_options {
    const char *const *servers; /* "http://127.0.0.1:7380", say, or "unix:/run/pawl/pawld.sock": the
                                 * socket of pawld --listen. The next one is tried when one does not
                                 * answer. No proxy is ever used. Copied */
    size_t server_count;        /* 0: those of PAWL_SERVER, with spaces between; or
                                 * pawl_default_server() */
    int64_t call_timeout_ms;    /* 0: 5000. How long a call may take, beyond what it waits for */
    const char *key; /* "pawl_...", where the servers ask for one. NULL: that of PAWL_KEY,
                      * or none. Copied, and sent with each call; use https:// beyond this
                      * machine */

    /* For https://. Files in PEM; copied. NULL: the file that PAWL_CA_FILE, PAWL_CERT or
     * PAWL_CERT_KEY names, if that is set */
    const char *ca_file;  /* CA certificates to trust; default: those of the system */
    const char *cert;     /* client certificate to present; default: none */
    const char *cert_key; /* its key; none: it is in the file of @cert */
};

/* @options NULL: all defaults. PAWL_EINVAL (pawl_options_check() has the reason), PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_client_new(const struct pawl_options *options,
                                             pawl_client **ret_client);

/* Reports whether pawl_client_new() takes @options, with what the environment adds to them.
 * PAWL_EINVAL:
 * @ret_reason has a sentence that says which of them is wrong, cut at @size bytes with the zero.
 * PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_options_check(const struct pawl_options *options,
                                                char *ret_reason, size_t size);

/* NULL is allowed. */
PAWL_PUBLIC void pawl_client_free(pawl_client *client);

/* The failure of the last call as a sentence; "" if it succeeded. Valid until the next call. */
PAWL_PUBLIC const char *pawl_client_reason(const pawl_client *client);

/* The problem (RFC 9457) that a server refused the last call with, as JSON: its "type" is
 * "urn:pawl:held", say, and further members are those of the HTTP contract. "" where it was none,
 * as no server answered. Valid until the next call. */
PAWL_PUBLIC const char *pawl_client_problem(const pawl_client *client);

/* ---- locks ----------------------------------------------------------------------------------- */

typedef struct pawl_lock pawl_lock;

/* The holder that blocks an acquisition. */
struct pawl_holder {
    const char *name;       /* the lock's; NULL: not known */
    const char *owner;      /* the holder's label; NULL: not known */
    int64_t retry_after_ms; /* its lease ends then, unless it is extended; -1: not known */
};

/* How many may hold a lock at a time. */
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
        mode;        /* PAWL_READ, PAWL_WRITE: @names[0] is a read-write lock. A reader's lock has
                      * the name of its seat, a writer's has the name itself and one token */
    int64_t permits; /* 0: a lock. 1 to PAWL_PERMITS_MAX: one seat of the semaphore @names[0], which
                      * has so many. The lock has the name of the seat then: "orders#2", say */
    int64_t delay_ms; /* how long the name stays closed for others after a lease that ends by
                       * itself; 0: it opens at once. A release opens it at once. @ttl_ms and this
                       * together are at most the fleet's longest lease */
};

/* Acquires. If an answer is lost, the call repeats under the same lock id, so that no unknown lock
 * is left behind. If no server answers, it fails after the call timeout. An answer of a gateway
 * (502, 503, 504, 408, HTML) or a connection that a gateway closes does not end a wait.
 * PAWL_EREFUSED: an unlimited wait for a lock that @client itself holds. PAWL_EHELD,
 * PAWL_EUNAVAILABLE, PAWL_EREFUSED, PAWL_EINVAL, PAWL_ENOMEM, PAWL_EPROTOCOL, PAWL_ECANCELLED. The
 * lock is the caller's: pawl_lock_free(). */
PAWL_PUBLIC PAWL_CHECKED int pawl_acquire(pawl_client *client, const struct pawl_request *request,
                                          pawl_lock **ret_lock);

/* Cancels the pawl_acquire(), pawl_watch() or pawl_follow() of @client that is under way, and does
 * nothing where none is. That call then releases what it may have been granted, and returns
 * PAWL_ECANCELLED. It returns within a second where servers answer, and at once where a signal
 * interrupts the thread that waits; an acquisition that succeeds at the same moment stands. Any
 * thread. */
PAWL_PUBLIC void pawl_cancel(pawl_client *client);

/* A lock that was acquired before, by another process say. */
struct pawl_grant {
    const char *const *names;
    size_t name_count;
    const char *lock_id;
    const int64_t *tokens; /* one for each name; NULL: none, which is enough for a release */
    int64_t ttl_ms;        /* 0: the fleet's default */
};

/* Makes a lock of @grant (copied), to be extended or released. No call is made: its deadline is not
 * known, and counts as over until it was extended. PAWL_EINVAL, PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_lock_resume(pawl_client *client, const struct pawl_grant *grant,
                                              pawl_lock **ret_lock);

/* Extends all names of @lock by @ttl_ms from now on (0: as acquired). Takes at most the
 * client's call timeout, and ends at the deadline. PAWL_ELOST: the lock is lost, or its deadline
 * has passed. 0, PAWL_NEW_GRANT, PAWL_ELOST, PAWL_EUNAVAILABLE (the deadline stands; the next
 * successful call reports a new grant of one of several names), PAWL_EEXHAUSTED (the deadline
 * stands), PAWL_EREFUSED, PAWL_EPROTOCOL. */
PAWL_PUBLIC PAWL_CHECKED int pawl_extend(pawl_client *client, pawl_lock *lock, int64_t ttl_ms);

/* Releases all names of @lock; its deadline is now. @ret_released, if not NULL: it was held until
 * now. PAWL_EUNAVAILABLE: not known; the lease ends by itself. Safe to repeat. Takes the call
 * timeout at the most, and half a second where the deadline has passed. */
PAWL_PUBLIC int pawl_release(pawl_client *client, pawl_lock *lock, bool *ret_released);

/* The same, and all names stay closed to other callers for @keep_ms, at most for the rest of the
 * lease. So a quick job keeps its time slot. 0: as pawl_release(). Call it again only after a
 * failure: the lock is released, and only time or an operator opens the names. PAWL_EINVAL:
 * @keep_ms is below 0, or longer than any lease. */
PAWL_PUBLIC int pawl_release_and_keep(pawl_client *client, pawl_lock *lock, int64_t keep_ms,
                                      bool *ret_released);

/* Frees the memory and releases nothing. NULL is allowed. */
PAWL_PUBLIC void pawl_lock_free(pawl_lock *lock);

/* Any thread may ask these, also while another one extends @lock. */
PAWL_PUBLIC int64_t pawl_lock_token(const pawl_lock *lock,
                                    size_t index);                /* the token of that name */
PAWL_PUBLIC int64_t pawl_lock_deadline_ms(const pawl_lock *lock); /* the earliest of its names */
PAWL_PUBLIC int64_t pawl_lock_left_ms(const pawl_lock *lock); /* until then; 0 when it passed, or
                                                               * an extension found it lost */
PAWL_PUBLIC int64_t pawl_lock_ttl_ms(const pawl_lock *lock);
PAWL_PUBLIC size_t pawl_lock_count(const pawl_lock *lock);
PAWL_PUBLIC const char *pawl_lock_name(const pawl_lock *lock, size_t index);
PAWL_PUBLIC const char *pawl_lock_id(const pawl_lock *lock);
PAWL_PUBLIC int pawl_lock_seat(const pawl_lock *lock); /* the index; -1: it is no seat */

/* ---- watching -------------------------------------------------------------------------------- */

/* How a lock is, as far as its watcher knows. All zero: nothing is known yet. */
struct pawl_state {
    bool known;
    bool held;
    int64_t token;                   /* token of the grant that holds the lock; 0: no grant does */
    char owner[PAWL_HOLDER_MAX + 1]; /* the holder's label; "": none */
};

/* A result of pawl_watch() that is no error: its wait ended, and the lock is as *state says. */
enum {
    PAWL_UNCHANGED = 2
};

/* Waits until the lock @name is not as *@state says, and writes there how the lock is then. Takes
 * no lock. A state that knows nothing is answered at once. Begin with such a state, and pass it on
 * from call to call:
 *
 *     struct pawl_state state = {.known = false};
 *     while ((error = pawl_watch(client, "leader", PAWL_WAIT, &state)) == 0)
 *         follow(state.held ? state.token : 0);
 *
 * Only the last change is told where several came at once. A lock that was released and is held
 * again has a higher token. The holder may be gone when the call returns: a resource that checks
 * tokens tells for sure. Once a server has answered, failures of servers and gateways end no wait.
 * @wait_ms: PAWL_WAIT, PAWL_NO_WAIT or milliseconds.
 * 0, PAWL_UNCHANGED, PAWL_EUNAVAILABLE (no server answers; *@state stands, and the call may be
 * repeated), PAWL_EREFUSED, PAWL_EINVAL, PAWL_ENOMEM, PAWL_EPROTOCOL, PAWL_ECANCELLED. */
PAWL_PUBLIC PAWL_CHECKED int pawl_watch(pawl_client *client, const char *name, int64_t wait_ms,
                                        struct pawl_state *state);

/* ---- counters, and what a server shows ------------------------------------------------------- */

/* Takes the next @count values of the counter @name: *@ret_last is the last of them, and the others
 * are right below it. If an answer is lost the call repeats, and the values of the lost answer stay
 * unused. PAWL_EUNAVAILABLE, PAWL_EREFUSED, PAWL_EINVAL, PAWL_EPROTOCOL, PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_counter_next(pawl_client *client, const char *name, int64_t count,
                                               int64_t *ret_last);

/* GET @path with @name behind it, percent-encoded: "/v1/locks/" and "orders/42", say. NULL: no
 * name.
 * *@ret_json is the body of the answer; free() it. PAWL_EREFUSED (what is asked for is not there,
 * say), PAWL_EUNAVAILABLE, PAWL_EINVAL, PAWL_EPROTOCOL, PAWL_ENOMEM. */
PAWL_PUBLIC PAWL_CHECKED int pawl_get(pawl_client *client, const char *path, const char *name,
                                      char **ret_json);

/* ---- events ---------------------------------------------------------------------------------- */

/* Something that happened, as GET /v1/events tells it. Valid during the call. */
struct pawl_event {
    const char *name; /* "granted", say */
    const char *id;   /* to go on behind this event */
    const char *json; /* its members */
};

/* Follows what happens at one server to the locks whose names begin with @prefix (NULL or "": all),
 * and to its masters. Calls @happened with NULL once the stream has begun, and then with each
 * event, until the stream ends. Events behind the one with the id @after come first, where the
 * server still has them; NULL or "": none. No other call of @client may be made meanwhile.
 *
 * 0: the server ended the stream, since it stops or reads its keys again: follow it again.
 * PAWL_EUNAVAILABLE (follow again after a pause; the next server is asked), PAWL_EREFUSED,
 * PAWL_EINVAL, PAWL_ENOMEM, PAWL_EPROTOCOL, PAWL_ECANCELLED. */
PAWL_PUBLIC PAWL_CHECKED int
pawl_follow(pawl_client *client, const char *prefix, const char *after,
            void (*happened)(void *user, const struct pawl_event *event), void *user);

/* ---- for operators --------------------------------------------------------------------------- */

/* Breaks the grant of @name with @token, for any holder, and no other grant. The holder's next
 * extension fails. The next grant has a higher token. *@ret_broken (NULL: not of interest):
 * the grant held the lock until now. PAWL_EREFUSED (another token has the lock),
 * PAWL_EUNAVAILABLE (not known; safe to repeat), PAWL_EINVAL, PAWL_EPROTOCOL. */
PAWL_PUBLIC PAWL_CHECKED int pawl_break(pawl_client *client, const char *name, int64_t token,
                                        bool *ret_broken);

/* ---- renewal --------------------------------------------------------------------------------- */

typedef struct pawl_renewer pawl_renewer;

/* Extends @lock in a separate thread, each time a third of the lease has passed. The thread ends
 * when the lock is lost or cannot be extended again. @client and @lock are borrowed until
 * pawl_renewer_stop(): ask @lock for its deadline and tokens, and call nothing else with the two.
 * PAWL_ENOMEM (threads and descriptors count too). */
PAWL_PUBLIC PAWL_CHECKED int pawl_renewer_start(pawl_client *client, pawl_lock *lock,
                                                pawl_renewer **ret_renewer);

/* A descriptor that gets readable with each change: extended, or ended. For poll(); do not read it
 * and do not close it. In a child of a fork it is readable, and it is not the parent's. */
PAWL_PUBLIC int pawl_renewer_fd(const pawl_renewer *renewer);

/* How it stands, and makes the descriptor unreadable. 0: it renews, or tries to; the deadline of
 * the lock counts. Otherwise it ended, and the holder must stop before the deadline:
 * PAWL_NEW_GRANT, PAWL_ELOST, PAWL_EEXHAUSTED, PAWL_EREFUSED, PAWL_EPROTOCOL, PAWL_ENOMEM.
 * PAWL_EUNAVAILABLE: the deadline passed without an answer. PAWL_EFORKED. */
PAWL_PUBLIC PAWL_CHECKED int pawl_renewer_look(pawl_renewer *renewer);

/* Waits for an extension that is under way, at most about two seconds, and frees. NULL is
 * allowed. */
PAWL_PUBLIC void pawl_renewer_stop(pawl_renewer *renewer);

#ifdef __cplusplus
}
#endif

#endif
